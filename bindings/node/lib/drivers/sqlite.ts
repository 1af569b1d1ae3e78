/** better-sqlite3 and node:sqlite: drivers that block. */

import { returnsRows } from "./driver.js";
import type { Answer, AnyObject, SyncDatabase } from "./driver.js";
import { firstValue } from "./driver.js";

export const isBetterSqlite3 = (db: AnyObject): boolean =>
  typeof db.prepare === "function" && typeof db.pragma === "function" && typeof db.inTransaction === "boolean";

export const isNodeSqlite = (db: AnyObject): boolean =>
  db.constructor?.name === "DatabaseSync" && typeof db.prepare === "function" && typeof db.exec === "function";

/** `handle` is what the user works with: the connection itself, or Drizzle's object around it. */
export function syncDatabase(connection: AnyObject, handle: object): SyncDatabase {
  return {
    dialect: "sqlite",
    handle,
    get isInTransaction() {
      return isInTransaction(connection);
    },
    batch: (statements) => statements.map((sql) => run(connection, sql)),
  };
}

function run(connection: AnyObject, sql: string): Answer {
  if (returnsRows(sql)) {
    const rows = connection.prepare(sql).all() as unknown[];
    return { rows: rows.length, value: firstValue(rows[0]) };
  }
  return { rows: Number(connection.prepare(sql).run().changes) };
}

function isInTransaction(connection: AnyObject): boolean {
  if (typeof connection.inTransaction === "boolean") return connection.inTransaction;
  if (typeof connection.isTransaction === "boolean") return connection.isTransaction;
  // node:sqlite before 22.16 cannot be asked: SQLite refuses a BEGIN inside of a transaction.
  try {
    connection.exec("BEGIN");
  } catch (error) {
    if (String((error as Error).message).includes("within a transaction")) return true;
    throw error;
  }
  connection.exec("ROLLBACK");
  return false;
}
