/** The type of the transaction that work receives, from the type of the database. No driver's types are imported. */

/**
 * | database | transaction |
 * |---|---|
 * | `pg.Pool` | `pg.PoolClient` |
 * | postgres.js `Sql` | `TransactionSql` |
 * | `PrismaClient` | `Prisma.TransactionClient` |
 * | Drizzle on PostgreSQL | its `tx` |
 * | `Knex` | `Knex.Transaction` |
 * | `pg.Client`, better-sqlite3, node:sqlite, Drizzle on SQLite | itself |
 */
export type TransactionOf<Db> = Db extends {
  totalCount: number;
  connect(callback: (error: any, client: infer Client, done: any) => void): void;
}
  ? NonNullable<Client>
  : Db extends { begin(options: string, callback: (sql: infer Sql) => any): any }
    ? Sql
    : Db extends { $transaction(callback: (tx: infer Tx) => any, options?: any): any }
      ? Tx
      : Db extends { all: any; get: any; run: any; values: any }
        ? Db
        : Db extends { transaction(callback: (tx: infer Tx) => any, config?: any): Promise<any> }
          ? Tx
          : Db;
