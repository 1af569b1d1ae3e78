/** Which driver an object belongs to, by its shape: no driver is imported, and `instanceof` fails across realms. */

import { WrongTransaction } from "../errors.js";
import type { AnyObject, Database, Session, SyncDatabase } from "./driver.js";
import { transactor } from "./callback.js";
import * as drizzle from "./drizzle.js";
import { notOpen } from "./failure.js";
import * as knex from "./knex.js";
import * as pg from "./pg.js";
import * as postgresJs from "./postgres_js.js";
import * as prisma from "./prisma.js";
import * as sqlite from "./sqlite.js";

const KNOWN =
  "a pool or client of pg, `sql` of postgres.js, a PrismaClient, Drizzle's `db`, `knex`, or a connection of better-sqlite3 or " +
  "node:sqlite";

/** A transaction in which something is claimed or staged, of any driver. */
export type AnySession = { readonly session: Session } | { readonly sync: SyncDatabase };

/** A database in which `run` begins transactions. */
export type AnyDatabase = { readonly database: Database } | { readonly sync: SyncDatabase };

/** The open transaction behind `tx`. */
export function recognizeTransaction(tx: unknown): AnySession {
  const given = objectOf(tx);
  const sync = syncOf(given);
  if (sync !== undefined) {
    if (!sync.isInTransaction) throw notBegun();
    return { sync };
  }
  if (drizzle.isDrizzle(given)) {
    if (!drizzle.isTransaction(given)) throw needsTransaction("Drizzle's `db`", "the `tx` of `db.transaction(async (tx) => …)`");
    return { session: { ...sessionOf(drizzle.unwrap(given)), handle: given } };
  }
  return { session: sessionOf(given) };
}

function sessionOf(given: AnyObject): Session {
  if (pg.isPool(given)) {
    throw needsTransaction("a pool of pg, which may run every query on another connection", "a client from `await pool.connect()` after BEGIN");
  }
  if (pg.isClient(given)) return pg.session(given);
  if (postgresJs.isRoot(given)) {
    throw needsTransaction("the outer `sql` of postgres.js, which is another connection", "the `sql` that `sql.begin(async (sql) => …)` hands to its callback");
  }
  if (postgresJs.isScoped(given)) return postgresJs.session(given);
  if (prisma.isClient(given)) {
    throw needsTransaction("a PrismaClient", "the `tx` of `prisma.$transaction(async (tx) => …)`; the array form cannot act on the claim");
  }
  if (prisma.isTransaction(given)) return prisma.session(given);
  if (knex.isRoot(given)) {
    throw needsTransaction("`knex`, which may run every query on another connection", "the `trx` of `knex.transaction(async (trx) => …)`");
  }
  if (knex.isTransaction(given)) return knex.session(given);
  throw unknown(given, "an open transaction");
}

/** The database behind `db`. */
export function recognizeDatabase(db: unknown): AnyDatabase {
  const given = objectOf(db);
  const sync = syncOf(given);
  if (sync !== undefined) return { sync };
  if (drizzle.isDrizzle(given)) return { database: drizzleDatabase(given) };
  if (pg.isPool(given) || pg.isClient(given)) return { database: pg.database(given) };
  if (postgresJs.isRoot(given)) return { database: postgresJs.database(given) };
  if (prisma.isClient(given)) return { database: prisma.database(given) };
  if (knex.isRoot(given)) return { database: knex.database(given) };
  if (postgresJs.isScoped(given) || prisma.isTransaction(given) || knex.isTransaction(given)) throw alreadyOpen();
  throw unknown(given, "a database");
}

function drizzleDatabase(db: AnyObject): Database {
  if (drizzle.isTransaction(db)) throw alreadyOpen();
  const client = drizzle.unwrap(db);
  const isPostgresJs = postgresJs.isRoot(client);
  const begin = async (callback: (session: Session) => Promise<void>): Promise<void> => {
    let link: pg.Link | undefined;
    const body = (tx: AnyObject): Promise<void> => {
      const connection = drizzle.unwrap(tx);
      // Drizzle does not listen for a connection that breaks, which would end the process.
      if (pg.isClient(connection)) link = pg.watch(connection);
      const done = callback({ ...sessionOf(connection), handle: tx });
      return isPostgresJs ? postgresJs.leaving(done) : done;
    };
    try {
      await db.transaction(body, { isolationLevel: "read committed" });
    } finally {
      link?.end();
    }
  };
  return { ...drizzleInner(client), transact: transactor("postgres", begin, isPostgresJs ? postgresJs.turn : undefined) };
}

function drizzleInner(client: AnyObject): Database {
  const inner = recognizeDatabase(client);
  if ("sync" in inner) throw unknown(client, "a database");
  return inner.database;
}

/** A connection that blocks, or Drizzle's object around one. */
function syncOf(given: AnyObject): SyncDatabase | undefined {
  const isBlocking = (db: AnyObject): boolean => sqlite.isBetterSqlite3(db) || sqlite.isNodeSqlite(db);
  if (isBlocking(given)) return sqlite.syncDatabase(given, given);
  if (!drizzle.isDrizzle(given)) return undefined;
  const client = drizzle.unwrap(given);
  return isBlocking(client) ? sqlite.syncDatabase(client, given) : undefined;
}

function objectOf(given: unknown): AnyObject {
  if ((typeof given === "object" && given !== null) || typeof given === "function") return given as AnyObject;
  throw unknown(given, "a database or transaction");
}

function needsTransaction(what: string, instead: string): WrongTransaction {
  return new WrongTransaction(
    `this is ${what}: the claim and the effect must be in one transaction; pass ${instead}, or use \`inbox.run(db, event, work)\``,
  );
}

function alreadyOpen(): WrongTransaction {
  return new WrongTransaction(
    "`run` begins and commits a transaction of its own, and this one is already open; pass the database itself, or use " +
      "`inbox.claim(tx, event)` in this transaction",
  );
}

/** A connection of SQLite in autocommit mode. */
export function notBegun(): WrongTransaction {
  return new WrongTransaction(
    `${notOpen().message.split(";")[0]}; send \`BEGIN IMMEDIATE\` first (better-sqlite3: \`db.transaction(work).immediate()\`), or ` +
      "use `inbox.runSync(db, event, work)`",
  );
}

function unknown(given: unknown, wanted: string): WrongTransaction {
  const name = typeof given === "object" && given !== null ? (given.constructor?.name ?? "object") : typeof given;
  return new WrongTransaction(`${name} is not ${wanted} that hapax-webhooks knows; pass ${KNOWN}`);
}
