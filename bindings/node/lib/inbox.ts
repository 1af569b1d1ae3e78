/** The inbox: which events a consumer has applied, recorded in the transaction that applies them. */

import * as claims from "./claim.js";
import { crashPoint } from "./crash_point.js";
import { Broken, DatabaseError, HapaxError, Invalid, UnknownCommit, WrongTransaction, isHapaxError } from "./errors.js";
import { type Event, checkName } from "./event.js";
import { limits } from "./native.js";
import { handling, handlingSync } from "./origin.js";
import type { Claim, Outcome } from "./outcome.js";
import { type Handled, Telemetry } from "./telemetry.js";
import type { TransactionOf } from "./types.js";
import type { Database, SyncDatabase } from "./drivers/driver.js";
import { RELEASE, SAVEPOINT } from "./drivers/driver.js";
import { failed, troubleOf } from "./drivers/failure.js";
import { recognizeDatabase, recognizeTransaction } from "./drivers/recognize.js";

export interface InboxOptions {
  /** How long rows are kept, in seconds: longer than any provider, replay or restored backup may deliver again. */
  readonly retentionSeconds?: number;
  /**
   * How long `run` waits for another transaction with the same claim before the outcome is `in_flight`. Keep it well below
   * the provider's timeout. On SQLite the connection's busy timeout applies instead.
   */
  readonly waitMs?: number;
  /** Called after each run, for metrics. */
  readonly onHandled?: (handled: Handled) => void;
}

const RETENTION_SECONDS_MAX = 0xffff_ffff;

/**
 * A consumer of events: its name, how long it remembers applied events, and how long a duplicate waits. Immutable.
 *
 * Two consumers of the same event each apply it once. The name is part of every row, so it must not change with a release
 * or a host.
 */
export class Inbox {
  readonly consumer: string;
  readonly retentionSeconds: number;
  readonly waitMs: number;
  readonly #telemetry: Telemetry;

  constructor(consumer: string, options: InboxOptions = {}) {
    checkName("consumer", consumer);
    const { retentionSecondsDefault, waitMsDefault } = limits();
    this.consumer = consumer;
    this.retentionSeconds = whole("retentionSeconds", options.retentionSeconds ?? retentionSecondsDefault);
    this.waitMs = whole("waitMs", options.waitMs ?? waitMsDefault);
    this.#telemetry = new Telemetry(options.onHandled);
    Object.freeze(this);
  }

  /**
   * Claims `event` in a transaction that you manage. If it is `first`, apply the event, then commit; the claim commits with
   * your changes. It never begins, commits or nests.
   *
   * If another open transaction has claimed the same event, this waits for it, limited by `lock_timeout`. The transaction
   * must be READ COMMITTED, PostgreSQL's default. Never commit after one of your statements has failed: PostgreSQL would
   * answer the COMMIT with a silent rollback, and the event would be lost. `run` takes care of that.
   */
  async claim(transaction: object, event: Event): Promise<Claim> {
    const found = recognizeTransaction(transaction);
    if ("sync" in found) return this.claimSync(transaction, event);
    const { session } = found;
    return claims.claim(session, this.#marks(event)).catch((error: unknown) => {
      throw failed(error, session.dialect);
    });
  }

  /** `claim` on better-sqlite3, node:sqlite, or Drizzle around them. The transaction must have begun IMMEDIATE. */
  claimSync(transaction: object, event: Event): Claim {
    const found = recognizeTransaction(transaction);
    if (!("sync" in found)) throw needsAsync("claim");
    try {
      return claims.claimSync(found.sync, this.#marks(event));
    } catch (error) {
      throw failed(error, "sqlite");
    }
  }

  /**
   * Applies `event` once: begins a transaction, claims the event, runs `work`, and commits.
   *
   * The claim comes first, so of two simultaneous deliveries one waits for the other before its work runs. If `work` fails,
   * everything is rolled back, including the claim, its own error is thrown, and the event can be delivered again. Do not
   * COMMIT or ROLLBACK in it, and do not call other systems over the network: `stage` such calls.
   *
   * On better-sqlite3 and node:sqlite, `work` must be synchronous: at every `await`, other requests would join the open
   * transaction of the shared connection.
   */
  async run<Db extends object, T>(
    db: Db,
    event: Event,
    work: (transaction: TransactionOf<Db>) => T | Promise<T>,
  ): Promise<Outcome<Awaited<T>>> {
    const found = recognizeDatabase(db);
    const untyped = work as (transaction: unknown) => unknown;
    const outcome = await this.#telemetry.observe(event, async () =>
      "sync" in found ? this.#runSync(found.sync, event, untyped) : this.#run(found.database, event, untyped),
    );
    return outcome as Outcome<Awaited<T>>;
  }

  /** `run` on better-sqlite3, node:sqlite, or Drizzle around them. The transaction begins IMMEDIATE: one writer at a time. */
  runSync<Db extends object, T>(db: Db, event: Event, work: (transaction: TransactionOf<Db>) => T): Outcome<T> {
    const found = recognizeDatabase(db);
    if (!("sync" in found)) throw needsAsync("run");
    const untyped = work as (transaction: unknown) => unknown;
    return this.#telemetry.observeSync(event, () => this.#runSync(found.sync, event, untyped)) as Outcome<T>;
  }

  async #run(database: Database, event: Event, work: (transaction: unknown) => unknown): Promise<Outcome<unknown>> {
    const marks = this.#marks(event);
    let isClaimed = false;
    try {
      return await database.transact<Outcome<unknown>>(
        claims.opening(marks, database.dialect, this.waitMs),
        async (session, opened) => {
          const claim = await claims.claimOpened(session, marks, opened).catch((error: unknown) => {
            throw failed(error, session.dialect);
          });
          // Commit, because a replay may have extended the row.
          if (claim === "again") return { commit: true, value: { kind: "duplicate" }, closing: [] };
          if (claim === "other_body") return { commit: false, value: { kind: "conflict" } };
          isClaimed = true;
          const value = await handling(session.handle, this.consumer, event, () => work(session.handle));
          crashPoint();
          return { commit: true, value: { kind: "processed", value }, closing: [RELEASE] };
        },
      );
    } catch (error) {
      const isBusy = isHapaxError(error) && (error as DatabaseError).trouble === "busy";
      if (!isClaimed && isBusy) return { kind: "in_flight" };
      throw error;
    }
  }

  #runSync(database: SyncDatabase, event: Event, work: (transaction: unknown) => unknown): Outcome<unknown> {
    if (database.isInTransaction) {
      throw new WrongTransaction(
        "this connection is inside a transaction, which `run` would commit; pass an idle connection, or use " +
          "`inbox.claimSync(db, event)` in your own transaction",
      );
    }
    try {
      database.batch(["BEGIN IMMEDIATE"]);
    } catch (error) {
      if (troubleOf(error, "sqlite") === "busy") return { kind: "in_flight" };
      throw failed(error, "sqlite");
    }
    try {
      return this.#begun(database, event, work);
    } finally {
      // Reached with an open transaction only after a failure or a conflict.
      if (database.isInTransaction) database.batch(["ROLLBACK"]);
    }
  }

  #begun(database: SyncDatabase, event: Event, work: (transaction: unknown) => unknown): Outcome<unknown> {
    let claim: Claim;
    try {
      claim = claims.claimSync(database, this.#marks(event));
      if (claim === "first") database.batch([SAVEPOINT]);
      // Commit, because a replay may have extended the row.
      if (claim === "again") database.batch(["COMMIT"]);
    } catch (error) {
      throw failed(error, "sqlite");
    }
    if (claim !== "first") return { kind: claim === "again" ? "duplicate" : "conflict" };
    const value = handlingSync(database.handle, this.consumer, event, () => work(database.handle));
    if (isPromise(value)) throw asynchronous(value);
    crashPoint();
    complete(database);
    return { kind: "processed", value };
  }

  #marks(event: Event): claims.Marks {
    return claims.marks(this.consumer, this.retentionSeconds, event);
  }
}

/** Commits the handler's changes. The savepoint no longer exists if SQLite or the handler ended the transaction. */
function complete(database: SyncDatabase): void {
  try {
    database.batch([RELEASE]);
  } catch (error) {
    throw new Broken(error);
  }
  try {
    database.batch(["COMMIT"]);
  } catch (error) {
    // If the disk fails in the middle of a commit, it is unknown whether the commit took effect.
    throw troubleOf(error, "sqlite") === "unavailable" ? new UnknownCommit(error) : failed(error, "sqlite");
  }
}

function whole(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= RETENTION_SECONDS_MAX) return value;
  throw new Invalid(`${name} is ${value}; pass a whole number from 0 to ${RETENTION_SECONDS_MAX}`);
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function asynchronous(promise: Promise<unknown>): HapaxError {
  // It fails, or not, after the rollback; either way nobody waits for it.
  promise.then(undefined, () => {});
  return new WrongTransaction(
    "the work returned a promise, and this driver of SQLite is synchronous: other requests would join the transaction at " +
      "every `await`; make the work a plain function that does its asynchronous part before or after the run",
  );
}

function needsAsync(method: string): WrongTransaction {
  return new WrongTransaction(
    `\`${method}Sync\` is for better-sqlite3 and node:sqlite; this driver is asynchronous: use \`await inbox.${method}(…)\``,
  );
}
