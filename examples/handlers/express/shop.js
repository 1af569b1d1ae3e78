// What all versions share: the signature, the database, the bank, the server.

import { createHmac, timingSafeEqual } from "node:crypto";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import Database from "better-sqlite3";
import express from "express";

const SECRET = process.env.STRIPE_WEBHOOK_SECRET;
const TOLERANCE_SECONDS = 300;
const BANK_TAKES_MS = Number(process.env.BANK_TAKES_MS ?? 100);

const FILE = process.env.DATABASE ?? "shop.db";
const database = new Database(FILE);
database.exec(`
  pragma journal_mode = wal;
  create table if not exists processed (event_id text primary key);
  create table if not exists payments (number integer primary key, event_id text not null, amount integer not null);
  create table if not exists account (name text primary key, balance integer not null);
  insert or ignore into account values ('shop', 0);
`);

/** Runs `work` in one transaction: an exception undoes it. */
export const transaction = (work) => database.transaction(work).immediate();

/** It knows the payment by the event's id, so that asking twice does no harm. See `bank` for when it is closed. */
export async function askTheBank(_event) {
  await sleep(BANK_TAKES_MS);
  if (existsSync(`${FILE}.closed`)) throw new Error("the bank is closed");
}

/** False if the event was known. */
export const remember = (event) =>
  database.prepare("insert or ignore into processed values (?)").run(event.id).changes === 1;

export const isKnown = (event) =>
  database.prepare("select 1 from processed where event_id = ?").get(event.id) !== undefined;

/** The effect: none of it is idempotent. */
export function book(event) {
  const { amount } = event.data.object;
  database.prepare("insert into payments (event_id, amount) values (?, ?)").run(event.id, amount);
  database.prepare("update account set balance = balance + ?").run(amount);
}

/** Serves one handler at /webhooks, behind the signature. */
export function serve(handle) {
  const app = express();
  app.post("/webhooks", express.raw({ type: "*/*" }), async (request, response) => {
    const event = verified(request);
    if (!event) return response.status(400).send("the signature does not hold");
    await handle(event);
    response.send("ok");
  });
  app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
}

function verified(request) {
  const header = request.get("stripe-signature") ?? "";
  const { t = "", v1 = "" } = Object.fromEntries(header.split(",").map((part) => part.split("=")));
  const expected = createHmac("sha256", SECRET).update(`${t}.`).update(request.body).digest("hex");
  const recent = Math.abs(Date.now() / 1000 - Number(t)) <= TOLERANCE_SECONDS;
  const same = v1.length === expected.length && timingSafeEqual(Buffer.from(v1), Buffer.from(expected));
  return recent && same ? JSON.parse(request.body) : undefined;
}
