/** A database for one test. */

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { inject } from "vitest";

export interface Place {
  readonly dialect: "postgres" | "sqlite";
  /** The URL of a database, or the path of a file. */
  readonly at: string;
  remove(): Promise<void>;
}

export async function newPlace(dialect: "postgres" | "sqlite"): Promise<Place> {
  return dialect === "postgres" ? postgres() : sqlite();
}

async function postgres(): Promise<Place> {
  const name = `t_${randomUUID().replaceAll("-", "")}`;
  const admin = inject("postgres");
  await once(admin, `create database ${name}`);
  return {
    dialect: "postgres",
    at: admin.replace(/postgres$/, name),
    remove: () => once(admin, `drop database ${name} with (force)`),
  };
}

async function sqlite(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "hapax-node-"));
  return { dialect: "sqlite", at: join(folder, "app.db"), remove: async () => rmSync(folder, { recursive: true }) };
}

async function once(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
