// The worker in TypeScript's place: applies the deliveries that the harness names, one after another. README.md says what is
// said on standard input and output.
//
//     node worker.mjs FOLDER [--cheat] URL      FOLDER has hapax-webhooks, pg and better-sqlite3

import { readSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, ...rest] = process.argv.slice(2);
const url = rest.at(-1);
const isCheating = rest.includes("--cheat");
const require = createRequire(join(folder, "package.json"));
const { createTables, Event, Inbox } = require("hapax-webhooks");

const WAIT_MS = 100;
// SQLite has one writer at a time, and a delivery waits for every other.
const BUSY_TIMEOUT_MS = 20_000;
// The effect, which shows when it is applied twice, or not at all.
const WORK = "insert into payments (event_id, language, amount) values ($1, 'typescript', 1)";

let unread = "";

/** The next request; undefined at the end of the input. It blocks, so that a synchronous handler can hold, too. */
function hear() {
  const chunk = Buffer.alloc(4096);
  while (!unread.includes("\n")) {
    const bytes = readSync(0, chunk);
    if (bytes === 0) return undefined;
    unread += chunk.toString("utf8", 0, bytes);
  }
  const end = unread.indexOf("\n");
  const line = unread.slice(0, end);
  unread = unread.slice(end + 1);
  return JSON.parse(line);
}

function say(word) {
  writeSync(1, `${JSON.stringify(word)}\n`);
}

/** Holds if this is the place, until the harness says to go on. */
function pass(delivery, place) {
  if (delivery.hold !== place) return;
  say("held");
  if (hear() !== "go_on") throw new Error("told to stop while held");
}

function onPostgres() {
  const pg = require("pg");
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const work = async (client, delivery) => {
    pass(delivery, "before_work");
    await client.query(WORK, [delivery.event_id]);
    pass(delivery, "after_work");
  };
  return { db: pool, work };
}

function onSqlite() {
  const Database = require("better-sqlite3");
  const db = new Database(url.slice("sqlite:".length), { timeout: BUSY_TIMEOUT_MS });
  const insert = (delivery) => db.prepare(WORK.replace("$1", "?")).run(delivery.event_id);
  const work = (_, delivery) => {
    pass(delivery, "before_work");
    insert(delivery);
    pass(delivery, "after_work");
  };
  return { db, work };
}

const inbox = new Inbox("harness", { waitMs: WAIT_MS });
const { db, work } = url.startsWith("sqlite:") ? onSqlite() : onPostgres();

async function apply(event, delivery) {
  return (await inbox.run(db, event, (tx) => work(tx, delivery))).kind;
}

/** Commits the claim on its own, then does the work. */
async function cheat(event, delivery) {
  const outcome = await inbox.run(db, event, () => {});
  if (outcome.kind === "processed") await work(db, delivery);
  return outcome.kind;
}

for (let request = hear(); request !== undefined; request = hear()) {
  if (request === "create_tables") {
    await createTables(db);
    say("created");
  } else {
    const { deliver } = request;
    const event = new Event("stripe", deliver.event_id, { body: deliver.body });
    say(await (isCheating ? cheat : apply)(event, deliver));
  }
}
process.exit(0);
