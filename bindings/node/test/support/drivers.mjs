/**
 * Every driver behind one interface. Plain JavaScript, because workers load it, too.
 *
 * @typedef {object} Link One connection.
 * @property {any} db What `run` takes.
 * @property {(tx: any, sql: string) => unknown} execute Runs a statement in a transaction.
 * @property {(body: (tx: any) => unknown) => unknown} transaction Begins, calls back, and commits; rolls back on an error.
 * @property {() => unknown} close
 *
 * @typedef {object} Driver
 * @property {"postgres" | "sqlite"} dialect
 * @property {(at: string, settings: Record<string, string>, waitMs: number) => Promise<Link>} connect
 */

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** @type {Record<string, Driver>} */
export const drivers = {
  pg: {
    dialect: "postgres",
    async connect(at, settings) {
      const { default: pg } = await import("pg");
      const pool = new pg.Pool({ connectionString: at, max: 1, options: options(settings) });
      // A pool reports idle connections that the server closed.
      pool.on("error", () => {});
      return {
        db: pool,
        execute: (tx, sql) => tx.query(sql),
        transaction: (body) => onClient(pool, body),
        close: () => pool.end(),
      };
    },
  },

  "pg client": {
    dialect: "postgres",
    async connect(at, settings) {
      const { default: pg } = await import("pg");
      const client = new pg.Client({ connectionString: at, options: options(settings) });
      await client.connect();
      client.on("error", () => {});
      return {
        db: client,
        execute: (tx, sql) => tx.query(sql),
        transaction: (body) => inTransaction(client, body),
        close: () => client.end(),
      };
    },
  },

  "postgres.js": {
    dialect: "postgres",
    async connect(at, settings) {
      const { default: postgres } = await import("postgres");
      const sql = postgres(at, { max: 1, connection: settings, onnotice: () => {} });
      return {
        db: sql,
        execute: (tx, text) => tx.unsafe(text),
        transaction: (body) => sql.begin(body),
        // Without a limit, postgres.js waits for ever for a connection that was lost in a transaction.
        close: () => sql.end({ timeout: 1 }),
      };
    },
  },

  "drizzle on pg": {
    dialect: "postgres",
    async connect(at, settings) {
      const { drizzle } = await import("drizzle-orm/node-postgres");
      const { sql } = await import("drizzle-orm");
      const { default: pg } = await import("pg");
      const pool = new pg.Pool({ connectionString: at, max: 1, options: options(settings) });
      pool.on("error", () => {});
      const db = drizzle({ client: pool });
      return {
        db,
        execute: (tx, text) => tx.execute(sql.raw(text)),
        transaction: (body) => db.transaction(body),
        close: () => pool.end(),
      };
    },
  },

  "drizzle on postgres.js": {
    dialect: "postgres",
    async connect(at, settings) {
      const { drizzle } = await import("drizzle-orm/postgres-js");
      const { sql } = await import("drizzle-orm");
      const { default: postgres } = await import("postgres");
      const client = postgres(at, { max: 1, connection: settings, onnotice: () => {} });
      const db = drizzle({ client });
      return {
        db,
        execute: (tx, text) => tx.execute(sql.raw(text)),
        transaction: (body) => db.transaction(body),
        close: () => client.end({ timeout: 1 }),
      };
    },
  },

  "knex on pg": {
    dialect: "postgres",
    async connect(at, settings) {
      const { default: knexOf } = await import("knex");
      const connection = { connectionString: at, options: options(settings) };
      const knex = knexOf({ client: "pg", connection, pool: { min: 0, max: 1 } });
      return {
        db: knex,
        execute: (tx, sql) => tx.raw(sql),
        transaction: (body) => knex.transaction(body),
        close: () => knex.destroy(),
      };
    },
  },

  "prisma on pg": {
    dialect: "postgres",
    async connect(at, settings) {
      const { PrismaPg } = await import("@prisma/adapter-pg");
      const { PrismaClient } = require("./prisma/client/client.js");
      const adapter = new PrismaPg({ connectionString: at, max: 1, options: options(settings) });
      const prisma = new PrismaClient({ adapter });
      return {
        db: prisma,
        execute: (tx, sql) => (/^\s*select/i.test(sql) ? tx.$queryRawUnsafe(sql) : tx.$executeRawUnsafe(sql)),
        transaction: (body) => prisma.$transaction(body),
        close: () => prisma.$disconnect(),
      };
    },
  },

  "better-sqlite3": {
    dialect: "sqlite",
    async connect(at, _settings, waitMs) {
      const { default: Database } = await import("better-sqlite3");
      const db = new Database(at, { timeout: waitMs });
      return {
        db,
        execute: (tx, sql) => tx.exec(sql),
        transaction: (body) => db.transaction(body).immediate(db),
        close: () => db.close(),
      };
    },
  },

  "drizzle on better-sqlite3": {
    dialect: "sqlite",
    async connect(at, _settings, waitMs) {
      const { drizzle } = await import("drizzle-orm/better-sqlite3");
      const { sql } = await import("drizzle-orm");
      const { default: Database } = await import("better-sqlite3");
      const client = new Database(at, { timeout: waitMs });
      const db = drizzle({ client });
      return {
        db,
        execute: (tx, text) => tx.run(sql.raw(text)),
        transaction: (body) => db.transaction(body, { behavior: "immediate" }),
        close: () => client.close(),
      };
    },
  },

  "knex on better-sqlite3": {
    dialect: "sqlite",
    async connect(at, _settings, waitMs) {
      const { default: knexOf } = await import("knex");
      const pool = {
        min: 0,
        max: 1,
        afterCreate: (/** @type {any} */ connection, /** @type {any} */ done) => {
          connection.pragma(`busy_timeout = ${waitMs}`);
          done();
        },
      };
      const knex = knexOf({ client: "better-sqlite3", connection: { filename: at }, useNullAsDefault: true, pool });
      return {
        db: knex,
        execute: (tx, sql) => tx.raw(sql),
        transaction: (body) => knex.transaction(body),
        close: () => knex.destroy(),
      };
    },
  },
};

if (process.getBuiltinModule?.("node:sqlite") !== undefined) {
  drivers["node:sqlite"] = {
    dialect: "sqlite",
    async connect(at, _settings, waitMs) {
      const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
      const db = new DatabaseSync(at);
      db.exec(`pragma busy_timeout = ${waitMs}`);
      return {
        db,
        execute: (tx, sql) => tx.exec(sql),
        transaction: (body) => {
          db.exec("begin immediate");
          try {
            const value = body(db);
            db.exec("commit");
            return value;
          } catch (error) {
            db.exec("rollback");
            throw error;
          }
        },
        close: () => db.close(),
      };
    },
  };
}

/** @param {Record<string, string>} settings */
function options(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ");
}

/** @param {any} pool @param {(tx: any) => unknown} body */
async function onClient(pool, body) {
  const client = await pool.connect();
  try {
    return await inTransaction(client, body);
  } finally {
    client.release();
  }
}

/** @param {any} client @param {(tx: any) => unknown} body */
async function inTransaction(client, body) {
  await client.query("begin isolation level read committed");
  try {
    const value = await body(client);
    await client.query("commit");
    return value;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}
