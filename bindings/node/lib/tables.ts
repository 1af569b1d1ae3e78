/** The two tables: creating them, and deleting rows that have expired. */

import { WrongTransaction } from "./errors.js";
import { limits } from "./native.js";
import { statement, tableStatements, tablesSql } from "./statements.js";
import type { Database } from "./drivers/driver.js";
import { failed } from "./drivers/failure.js";
import { recognizeDatabase, recognizeTransaction } from "./drivers/recognize.js";

export { tablesSql };

/**
 * Creates both tables unless they exist, in the database in which your handler writes. `db` may also be a transaction, such
 * as that of a migration. `tablesSql` has the same statements for migrations in SQL.
 */
export async function createTables(db: object): Promise<void> {
  const { batch, dialect } = anything(db);
  await mapped(dialect, () => batch(tableStatements(dialect)));
}

export function createTablesSync(db: object): void {
  const sync = blocking(db, "createTables");
  try {
    sync.batch(tableStatements("sqlite"));
  } catch (error) {
    throw failed(error, "sqlite");
  }
}

/**
 * Deletes up to `rowsMax` expired rows, and returns how many were deleted. Call it periodically, each time until it returns
 * fewer than `rowsMax`.
 */
export async function purge(db: object, rowsMax = 1000): Promise<number> {
  const { batch, dialect } = anything(db);
  const [purged] = await mapped(dialect, () => batch([purging(dialect, rowsMax)]));
  return purged?.rows ?? 0;
}

export function purgeSync(db: object, rowsMax = 1000): number {
  const sync = blocking(db, "purge");
  try {
    return sync.batch([purging("sqlite", rowsMax)])[0]?.rows ?? 0;
  } catch (error) {
    throw failed(error, "sqlite");
  }
}

function purging(dialect: "postgres" | "sqlite", rowsMax: number): string {
  return statement(dialect, "purge", [Math.min(rowsMax, limits().purgeRowsMax)]);
}

/** A database, or a transaction of one. */
function anything(db: object): Pick<Database, "batch" | "dialect"> {
  let found: ReturnType<typeof recognizeDatabase> | ReturnType<typeof recognizeTransaction>;
  try {
    found = recognizeDatabase(db);
  } catch {
    found = recognizeTransaction(db);
  }
  if ("database" in found) return found.database;
  if ("session" in found) return found.session;
  const { sync } = found;
  return { dialect: "sqlite", batch: async (statements) => sync.batch(statements) };
}

function blocking(db: object, method: string) {
  const found = recognizeDatabase(db);
  if ("sync" in found) return found.sync;
  throw new WrongTransaction(`\`${method}Sync\` is for better-sqlite3 and node:sqlite; use \`await ${method}(db)\``);
}

async function mapped<T>(dialect: "postgres" | "sqlite", work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failed(error, dialect);
  }
}
