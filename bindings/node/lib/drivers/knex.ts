/** Knex, on PostgreSQL and SQLite. */

import { SetupError, WrongTransaction } from "../errors.js";
import type { Dialect } from "../statements.js";
import { transactor } from "./callback.js";
import type { Answer, AnyObject, Database, Session } from "./driver.js";
import { firstValue, returnsRows } from "./driver.js";

const isKnex = (db: any): boolean =>
  typeof db === "function" && typeof db.raw === "function" && typeof db.client === "object" && typeof db.transaction === "function";

export const isRoot = (db: AnyObject): boolean => isKnex(db) && !db.isTransaction;
export const isTransaction = (db: AnyObject): boolean => isKnex(db) && Boolean(db.isTransaction);

export function session(handle: object): Session {
  const trx = handle as AnyObject;
  if (trx.isCompleted?.() === true) {
    throw new WrongTransaction(
      "this transaction of Knex is already committed or rolled back; claim inside the callback of `knex.transaction`, and " +
        "await every statement in it",
    );
  }
  return unchecked(handle);
}

function unchecked(handle: object): Session {
  const knex = handle as AnyObject;
  const dialect = dialectOf(knex);
  return {
    dialect,
    handle,
    batch: async (statements) => (dialect === "postgres" ? together(knex, statements) : oneByOne(knex, statements)),
  };
}

export function database(db: object): Database {
  const knex = db as AnyObject;
  const dialect = dialectOf(knex);
  // SQLite has one isolation level. BEGIN is enough there: the first statement is a write, which takes the lock.
  const config = dialect === "postgres" ? { isolationLevel: "read committed" } : {};
  return {
    dialect,
    batch: (statements) => unchecked(db).batch(statements),
    transact: transactor(dialect, (callback) =>
      knex.transaction((trx: object) => callback(unchecked(trx)), config),
    ),
  };
}

function dialectOf(knex: AnyObject): Dialect {
  const name = String(knex.client.dialect ?? knex.client.config?.client);
  if (name.startsWith("postgres") || name === "pg" || name.includes("pgnative")) return "postgres";
  if (name.includes("sqlite")) return "sqlite";
  throw new SetupError(`Knex with ${name} is not supported; use the client "pg" or "better-sqlite3"`);
}

async function together(knex: AnyObject, statements: readonly string[]): Promise<Answer[]> {
  if (statements.length === 0) return [];
  const results = (await knex.raw(statements.join("; "))) as AnyObject | AnyObject[];
  return (Array.isArray(results) ? results : [results]).map((result) => ({
    rows: result.rowCount ?? 0,
    value: firstValue(result.rows?.[0]),
  }));
}

async function oneByOne(knex: AnyObject, statements: readonly string[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const sql of statements) {
    const result = (await knex.raw(sql)) as AnyObject[];
    if (returnsRows(sql)) answers.push({ rows: result.length, value: firstValue(result[0]) });
    // What raw returns for a write differs between the SQLite clients.
    else answers.push({ rows: Number(firstValue(((await knex.raw("SELECT changes() AS rows")) as AnyObject[])[0])) });
  }
  return answers;
}
