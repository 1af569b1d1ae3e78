// The handler of app.js with our library: the same work, in the same kind of pool.

import cluster from "node:cluster";

import express from "express";
import { Inbox, Source } from "hapax-webhooks";
import { webhook } from "hapax-webhooks/express";
import pg from "pg";

const WORKERS = 2;
const WORK = { name: "work", text: "insert into effects (event) values ($1)" };

function serve() {
  const db = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
  const source = Source.provider("stripe", { secrets: [process.env.HAPAX_LOAD_SECRET] });
  const inbox = new Inbox("bench");
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  const receive = async (event, client) => {
    await client.query({ ...WORK, values: [event.eventId] });
  };
  app.post("/in/express", webhook({ source, inbox, db }, receive));
  app.listen(Number(process.env.PORT), "127.0.0.1");
}

if (cluster.isPrimary) {
  for (let number = 0; number < WORKERS; number += 1) cluster.fork();
  cluster.on("exit", () => process.exit(1));
  process.on("SIGTERM", () => process.exit(0));
} else {
  serve();
}
