/** A shop whose one effect is a row in `payments`: not idempotent, so that it shows when it happens twice. */

import Database from "better-sqlite3";
import pg from "pg";
import { Inbox, Source, createTables, createTablesSync } from "hapax-webhooks";
import { onTestFinished } from "vitest";

import { newPlace } from "./place.js";

export const SECRET = "whsec_test";
export const PATH = "/webhooks/stripe";
export const stripe = Source.provider("stripe", { secrets: [SECRET] });
export const paid = () => stripe.sample("invoice.paid", { path: PATH });
export const billing = new Inbox("billing", { waitMs: 10_000 });

const PAYMENTS = "create table payments (event_id text not null)";

/** A shop on PostgreSQL. */
export async function shop() {
  const place = await newPlace("postgres");
  const pool = new pg.Pool({ connectionString: place.at, max: 10 });
  pool.on("error", () => {});
  onTestFinished(async () => {
    await pool.end();
    await place.remove();
  });
  await createTables(pool);
  await pool.query(PAYMENTS);
  const payments = async (): Promise<number> => Number((await pool.query("select count(*) from payments")).rows[0].count);
  const book = (client: { query(sql: string, values: unknown[]): unknown }, eventId: string) =>
    client.query("insert into payments values ($1)", [eventId]);
  return { at: place.at, pool, payments, book };
}

/** A shop on SQLite. */
export async function smallShop() {
  const place = await newPlace("sqlite");
  const db = new Database(place.at);
  onTestFinished(async () => {
    db.close();
    await place.remove();
  });
  createTablesSync(db);
  db.exec(PAYMENTS);
  const payments = (): number => db.prepare("select count(*) from payments").pluck().get() as number;
  const book = (eventId: string) => db.prepare("insert into payments values (?)").run(eventId);
  return { at: place.at, db, payments, book };
}
