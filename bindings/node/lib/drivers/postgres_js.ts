/** postgres.js. */

import type { AnyObject, Database, Session } from "./driver.js";
import { firstValue } from "./driver.js";
import { transactor } from "./callback.js";
import { isClosing } from "./failure.js";

/** From this length on, postgres.js writes a message when it is sent. */
const WRITTEN_AT_ONCE = 1024;

const isSql = (db: any): boolean => typeof db === "function" && typeof db.unsafe === "function";

/** The `sql` of the package: a pool. */
export const isRoot = (db: AnyObject): boolean => isSql(db) && typeof db.begin === "function";

/** The `sql` that `begin`, `savepoint` or `reserve` hands out: one connection. */
export const isScoped = (db: AnyObject): boolean => isSql(db) && typeof db.begin !== "function";

export function session(handle: object): Session {
  return {
    dialect: "postgres",
    handle,
    batch: async (statements) => {
      if (statements.length === 0) return [];
      // A short message is written a moment later, and an error then ends the process; a long one is written at once.
      const text = statements.join("; ").padEnd(WRITTEN_AT_ONCE);
      const results = (await (handle as AnyObject).unsafe(text).simple()) as AnyObject[] | AnyObject;
      const list = statements.length === 1 ? [results as AnyObject] : (results as AnyObject[]);
      return list.map((result) => ({ rows: result.count ?? 0, value: firstValue(result[0]) }));
    },
  };
}

export function database(sql: object): Database {
  return {
    dialect: "postgres",
    batch: (statements) => session(sql).batch(statements),
    transact: transactor(
      "postgres",
      (callback) =>
        (sql as AnyObject).begin("isolation level read committed", (scoped: object) => leaving(callback(session(scoped)))),
      turn,
    ),
  };
}

/**
 * Leaves a callback to `begin`, which ends by itself when the connection closes. A callback that failed before that would
 * have `begin` send ROLLBACK to a connection without a socket, and the error of that ends the process.
 */
export async function leaving(callback: Promise<void>): Promise<void> {
  try {
    await callback;
  } catch (error) {
    if (isClosing(error)) await new Promise<never>(() => {});
    throw error;
  }
}

/** Lets `begin` learn that the connection is closed, so that nothing is sent on it. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
