/** What a driver can do. Adapters know their driver by the shape of its objects, and import none. */

import type { Dialect } from "../statements.js";

/** The answer to one statement. */
export interface Answer {
  /** Rows returned, or rows changed. */
  readonly rows: number;
  /** The first value of the first row. */
  readonly value?: unknown;
}

/** An open transaction, which this package neither begins nor ends. */
export interface Session {
  readonly dialect: Dialect;
  /** The object that the user works with. */
  readonly handle: object;
  /** Runs statements in order, in one message if the driver can, until the first that fails. */
  batch(statements: readonly string[]): Promise<readonly Answer[]>;
}

/** What a transaction begins with. Each is written only when it is needed. */
export interface Opening {
  statements(): readonly string[];
  /** The same, for a driver that has prepared the claim on its connection; missing if there is none. */
  prepared?(): readonly string[];
}

/** How a transaction ends, unless with an error. */
export type End<T> =
  | { readonly commit: true; readonly value: T; readonly closing: readonly string[] }
  | { readonly commit: false; readonly value: T };

/** A database in which transactions can be begun. */
export interface Database {
  readonly dialect: Dialect;
  /** Runs statements outside of any transaction of ours. */
  batch(statements: readonly string[]): Promise<readonly Answer[]>;
  /**
   * Begins a transaction (READ COMMITTED), runs `opening` in it, then `body`, then `closing`, and commits. Rolls back if
   * anything fails. An error of `body` is thrown as it is; an error of the rest is a `DatabaseError`, `Broken` or
   * `UnknownCommit`.
   */
  transact<T>(
    opening: Opening,
    body: (session: Session, opened: readonly Answer[]) => Promise<End<T>>,
  ): Promise<T>;
}

/** A database whose driver blocks. */
export interface SyncDatabase {
  readonly dialect: "sqlite";
  /** The object that the user works with. */
  readonly handle: object;
  readonly isInTransaction: boolean;
  batch(statements: readonly string[]): readonly Answer[];
}

export type AnyObject = Record<string | symbol, any>;

/** The last word of a COMMIT. */
export const RELEASE = "RELEASE SAVEPOINT hapax_handler";
export const SAVEPOINT = "SAVEPOINT hapax_handler";

/** Fails outside of a transaction block, and costs nothing in one. */
export const PROBE = ["SAVEPOINT hapax_probe", "RELEASE SAVEPOINT hapax_probe"] as const;

/** Whether a statement returns rows. */
export const returnsRows = (sql: string): boolean => /^\s*SELECT\b|\bRETURNING\b/i.test(sql);

export function firstValue(row: unknown): unknown {
  return typeof row === "object" && row !== null ? Object.values(row)[0] : undefined;
}
