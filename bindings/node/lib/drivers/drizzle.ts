/** Drizzle on `pg`, postgres.js and better-sqlite3: its objects wrap those of the driver, which run our statements. */

import { SetupError } from "../errors.js";
import type { AnyObject } from "./driver.js";

const KIND = Symbol.for("drizzle:entityKind");

/** The names of a class and those it extends, as Drizzle gives them. */
function kinds(db: AnyObject): string[] {
  const names: string[] = [];
  for (let at = db.constructor as AnyObject | null; at; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, KIND)) names.push(String(at[KIND]));
  }
  return names;
}

export const isDrizzle = (db: AnyObject): boolean =>
  typeof db === "object" && kinds(db).some((name) => /^(Pg|SQLite|BaseSQLite)(Database|Transaction)$|(Pg|SQLite|Js)Transaction$/.test(name));

export const isTransaction = (db: AnyObject): boolean => kinds(db).some((name) => name.endsWith("Transaction"));

/** The driver's object behind one of Drizzle's. */
export function unwrap(db: AnyObject): AnyObject {
  const client = db.session?.client ?? db._?.session?.client ?? db.$client;
  if (client === undefined || client === null) {
    throw new SetupError(
      `Drizzle's ${kinds(db)[0] ?? "object"} has no client of pg, postgres.js or better-sqlite3; create it with drizzle({ client })`,
    );
  }
  return client as AnyObject;
}
