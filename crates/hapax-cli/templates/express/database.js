import { readFile } from "node:fs/promises";

import { createTables } from "hapax-webhooks";
import knex from "knex";

/** SQLite in a file, or PostgreSQL. */
export async function open(url) {
  const db = url.startsWith("postgres")
    ? knex({ client: "pg", connection: url })
    : knex({ client: "better-sqlite3", connection: url, useNullAsDefault: true });
  await db.raw(await readFile(new URL("schema.sql", import.meta.url), "utf8"));
  await createTables(db);
  return db;
}
