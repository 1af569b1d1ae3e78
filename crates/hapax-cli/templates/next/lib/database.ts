import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { createTables } from "hapax-webhooks";
import knex, { type Knex } from "knex";

let opened: Knex | undefined;

/** SQLite in a file, or PostgreSQL. */
export function database(): Knex {
  const url = process.env.DATABASE_URL ?? "shop.db";
  return (opened ??= url.startsWith("postgres")
    ? knex({ client: "pg", connection: url })
    : knex({ client: "better-sqlite3", connection: url, useNullAsDefault: true }));
}

export async function createSchema(): Promise<void> {
  await database().raw(await readFile(join(process.cwd(), "schema.sql"), "utf8"));
  await createTables(database());
}
