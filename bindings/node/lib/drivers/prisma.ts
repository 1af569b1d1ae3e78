/** Prisma Client: interactive transactions, on PostgreSQL and SQLite. */

import { SetupError } from "../errors.js";
import type { Dialect } from "../statements.js";
import { transactor } from "./callback.js";
import type { Answer, AnyObject, Database, Session } from "./driver.js";
import { firstValue, returnsRows } from "./driver.js";

/** Longer than Prisma's 5 s: a callback goes on after the time-out, and could then write outside of the transaction. */
const TIMEOUT_MS = 30_000;

const isPrisma = (db: AnyObject): boolean =>
  typeof db.$queryRawUnsafe === "function" && typeof db.$executeRawUnsafe === "function";

/** The client of an interactive transaction cannot connect. It may have `$transaction`: Prisma 7 nests transactions. */
export const isTransaction = (db: AnyObject): boolean => isPrisma(db) && typeof db.$connect !== "function";
export const isClient = (db: AnyObject): boolean => isPrisma(db) && typeof db.$connect === "function";

export function session(handle: object): Session {
  const tx = handle as AnyObject;
  return { dialect: dialectOf(tx), handle, batch: (statements) => oneByOne(tx, statements) };
}

export function database(db: object): Database {
  const client = db as AnyObject;
  const dialect = dialectOf(client);
  const isolation = dialect === "postgres" ? { isolationLevel: "ReadCommitted" } : {};
  return {
    dialect,
    batch: (statements) => oneByOne(client, statements),
    transact: transactor(dialect, (callback) =>
      client.$transaction((tx: object) => callback(session(tx)), { ...isolation, timeout: TIMEOUT_MS }),
    ),
  };
}

function dialectOf(client: AnyObject): Dialect {
  const provider = String(client._activeProvider ?? client._engineConfig?.activeProvider);
  if (provider === "postgresql" || provider === "postgres" || provider === "cockroachdb") return "postgres";
  if (provider === "sqlite") return "sqlite";
  throw new SetupError(`Prisma with the provider ${provider} is not supported; use postgresql or sqlite`);
}

/** Prisma prepares every statement, so each is a message of its own. */
async function oneByOne(client: AnyObject, statements: readonly string[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const sql of statements) {
    if (returnsRows(sql)) {
      const rows = (await client.$queryRawUnsafe(sql)) as unknown[];
      answers.push({ rows: rows.length, value: firstValue(rows[0]) });
    } else {
      answers.push({ rows: (await client.$executeRawUnsafe(sql)) as number });
    }
  }
  return answers;
}
