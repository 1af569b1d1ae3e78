/** The types: the transaction that work receives is that of the driver. Checked by the compiler. */

import type BetterSqlite3 from "better-sqlite3";
import type { BetterSQLite3Database } from "drizzle-orm/better-sqlite3";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type { Knex } from "knex";
import type pg from "pg";
import type postgres from "postgres";
import { expectTypeOf, test } from "vitest";
import type { Event, Outcome, TransactionOf } from "hapax-webhooks";
import { Inbox } from "hapax-webhooks";

test("each driver's transaction has its own type", () => {
  expectTypeOf<TransactionOf<pg.Pool>>().toEqualTypeOf<pg.PoolClient>();
  expectTypeOf<TransactionOf<pg.Client>>().toEqualTypeOf<pg.Client>();
  expectTypeOf<TransactionOf<postgres.Sql>>().toEqualTypeOf<postgres.TransactionSql>();
  expectTypeOf<TransactionOf<Knex>>().toEqualTypeOf<Knex.Transaction>();
  expectTypeOf<TransactionOf<BetterSqlite3.Database>>().toEqualTypeOf<BetterSqlite3.Database>();
  expectTypeOf<TransactionOf<BetterSQLite3Database>>().toEqualTypeOf<BetterSQLite3Database>();
  expectTypeOf<Parameters<Parameters<NodePgDatabase["transaction"]>[0]>[0]>().toEqualTypeOf<TransactionOf<NodePgDatabase>>();
});

test("the outcome has the type of the work's value", () => {
  const check = async (inbox: Inbox, pool: pg.Pool, event: Event) => {
    expectTypeOf(await inbox.run(pool, event, async () => 7)).toEqualTypeOf<Outcome<number>>();
    expectTypeOf(await inbox.run(pool, event, () => "text")).toEqualTypeOf<Outcome<string>>();
  };
  expectTypeOf(check).toBeFunction();
});
