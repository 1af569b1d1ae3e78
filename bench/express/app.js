// The handler that teams write by hand: verify, claim the id, do the work, all in one transaction.
//
// It is written as well as that can be done: two workers, a pool in each, prepared statements (pg keeps those that have a
// name), and one round trip for the claim and one for the work.

import cluster from "node:cluster";
import { createHmac, timingSafeEqual } from "node:crypto";

import express from "express";
import pg from "pg";

const SECRET = process.env.HAPAX_LOAD_SECRET;
const TOLERANCE_SECONDS = 300;
const WORKERS = 2;

const CLAIM = {
  name: "claim",
  text: "insert into processed_events (event_id) values ($1) on conflict do nothing returning true",
};
const WORK = { name: "work", text: "insert into effects (event) values ($1)" };

function isGenuine(header, body) {
  const parts = header.split(",").map((part) => part.split("="));
  const timestamp = parts.find(([name]) => name === "t")?.[1] ?? "";
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS)) return false;
  const expected = createHmac("sha256", SECRET).update(`${timestamp}.`).update(body).digest();
  return parts.some(([name, value]) => {
    const given = Buffer.from(value ?? "", "hex");
    return name === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** Claims the event and does its work in one transaction; false if it was claimed before. */
async function processOnce(pool, event) {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const claimed = await client.query({ ...CLAIM, values: [event] });
    if (claimed.rowCount === 1) await client.query({ ...WORK, values: [event] });
    await client.query("commit");
    client.release();
    return claimed.rowCount === 1;
  } catch (error) {
    // The connection is closed with its transaction.
    client.release(error);
    throw error;
  }
}

function serve() {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.post("/in/express", express.raw({ type: "*/*" }), async (request, response) => {
    if (!isGenuine(request.get("stripe-signature") ?? "", request.body)) return response.sendStatus(401);
    const event = JSON.parse(request.body).id;
    const isNew = await processOnce(pool, event);
    response.json({ status: isNew ? "accepted" : "duplicate", event_id: event });
  });
  app.listen(Number(process.env.PORT), "127.0.0.1");
}

if (cluster.isPrimary) {
  for (let number = 0; number < WORKERS; number += 1) cluster.fork();
  cluster.on("exit", () => process.exit(1));
  process.on("SIGTERM", () => process.exit(0));
} else {
  serve();
}
