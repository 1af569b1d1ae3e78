/** A claim: the row that records an applied event, and the result if the row exists already. */

import { DatabaseError } from "./errors.js";
import type { Event } from "./event.js";
import { limits } from "./native.js";
import type { Claim } from "./outcome.js";
import { type Dialect, Hex, type Value, executeClaim, statement } from "./statements.js";
import type { Answer, Opening, Session, SyncDatabase } from "./drivers/driver.js";
import { PROBE, SAVEPOINT } from "./drivers/driver.js";

/** The rows to write: that of the event, and before it that of its binding, for providers that do not sign the body. */
export interface Marks {
  readonly binding: Mark | undefined;
  readonly event: Mark;
}

interface Mark {
  readonly key: readonly [source: string, eventId: string, consumer: string, generation: number];
  readonly bodyHash: string | undefined;
  readonly retentionSeconds: number;
  readonly extends: boolean;
}

export function marks(consumer: string, retentionSeconds: number, event: Event): Marks {
  const mark = (eventId: string, bodyHash: string | undefined): Mark => ({
    key: [event.source, eventId, consumer, event.generation],
    bodyHash,
    retentionSeconds,
    extends: event.replayed,
  });
  const { binding } = event;
  return {
    binding: binding && mark(binding.eventId, binding.bodyHash),
    event: mark(event.eventId, event.bodyHash),
  };
}

/** The limit of a wait, as `lock_timeout` has it. Zero would mean no limit. */
function limitOf(waitMs: number): string {
  return `${Math.min(Math.max(Math.trunc(waitMs), 1), 3_600_000)}ms`;
}

/** Remembers the session's own limit, and sets another one, both until the end of the transaction. */
function limitWait(waitMs: number): string {
  return (
    "SELECT set_config('hapax.lock_timeout', current_setting('lock_timeout'), true), " +
    `set_config('lock_timeout', '${limitOf(waitMs)}', true)`
  );
}

/**
 * Restores the session's limit as the claim returns its row. RETURNING is evaluated after the row was inserted, so the
 * limit holds for as long as the insert waits; and only if it was inserted, so a duplicate keeps the limit, for the look-up.
 */
const LIFTING = " RETURNING set_config('lock_timeout', current_setting('hapax.lock_timeout'), true)";

/**
 * What a run begins with, in one message where the driver can: the wait is limited, the event claimed, the limit lifted,
 * and the handler's savepoint set. If the event was not claimed, nothing but a look-up follows, and the savepoint does no
 * harm.
 */
export function opening(all: Marks, dialect: Dialect, waitMs: number): Opening {
  if (dialect === "sqlite") return { statements: () => [] };
  if (all.binding !== undefined) return { statements: () => [limitWait(waitMs)] };
  return {
    statements: () => [limitWait(waitMs), insert(all.event, dialect) + LIFTING, SAVEPOINT],
    prepared: () => [executeClaim([...values(all.event), limitOf(waitMs)]), SAVEPOINT],
  };
}

/** Continues after `opening`, whose second answer is that to the claim. A first claim has its savepoint. */
export async function claimOpened(session: Session, all: Marks, opened: readonly Answer[]): Promise<Claim> {
  const suffix = session.dialect === "postgres" ? LIFTING : "";
  const tried = opened[1];
  if (tried?.rows === 1) return "first";
  const claim = tried === undefined ? await claimAll(session, all, suffix) : await lookUpOrClaim(session, all.event, suffix);
  // A savepoint of its own, after the claim: should the handler roll back to it, the claim stays.
  if (claim === "first") await session.batch([SAVEPOINT]);
  return claim;
}

/** Claims in a transaction of the user's, after making sure that there is one. */
export async function claim(session: Session, all: Marks): Promise<Claim> {
  if (session.dialect === "postgres") await session.batch(PROBE);
  return claimAll(session, all, "");
}

async function claimAll(session: Session, all: Marks, suffix: string): Promise<Claim> {
  if (all.binding !== undefined) {
    const bound = await claimOne(session, all.binding, "");
    if (bound === "other_body") return bound;
  }
  return claimOne(session, all.event, suffix);
}

async function claimOne(session: Session, mark: Mark, suffix: string): Promise<Claim> {
  const [inserted] = await session.batch([insert(mark, session.dialect) + suffix]);
  return inserted?.rows === 1 ? "first" : lookUpOrClaim(session, mark, suffix);
}

/** Reports the row that prevented the claim; if it was purged at that moment, claims again. */
async function lookUpOrClaim(session: Session, mark: Mark, suffix: string): Promise<Claim> {
  for (let attempt = 1; ; attempt += 1) {
    // A separate statement: the claim may have waited for a row that its own snapshot does not show.
    const [stored] = await session.batch([statement(session.dialect, "lookUp", mark.key)]);
    if (stored?.rows === 1) {
      if (mark.extends) await session.batch([extension(mark, session.dialect)]);
      return against(mark, stored.value);
    }
    if (attempt >= limits().claimAttemptsMax) throw vanished();
    const [inserted] = await session.batch([insert(mark, session.dialect) + suffix]);
    if (inserted?.rows === 1) return "first";
  }
}

/** Claims on a driver that blocks. There is one writer, so the row that prevents an insert is still there. */
export function claimSync(database: SyncDatabase, all: Marks): Claim {
  for (const mark of [all.binding, all.event]) {
    if (mark === undefined) continue;
    const [inserted] = database.batch([insert(mark, "sqlite")]);
    if (inserted?.rows === 1) {
      if (mark === all.event) return "first";
      continue;
    }
    const [stored] = database.batch([statement("sqlite", "lookUp", mark.key)]);
    if (mark.extends) database.batch([extension(mark, "sqlite")]);
    const claim = against(mark, stored?.value);
    if (mark === all.event || claim === "other_body") return claim;
  }
  throw vanished();
}

function insert(mark: Mark, dialect: Dialect): string {
  return statement(dialect, "claim", values(mark));
}

function values(mark: Mark): Value[] {
  return [...mark.key, hash(mark), mark.retentionSeconds];
}

function extension(mark: Mark, dialect: Dialect): string {
  return statement(dialect, "extend", [...mark.key, mark.retentionSeconds]);
}

function hash(mark: Mark): Value {
  return mark.bodyHash === undefined ? null : new Hex(mark.bodyHash);
}

/** Compares the body of an event with that of the existing row. An unknown hash never conflicts. */
function against(mark: Mark, stored: unknown): Claim {
  const isKnown = typeof stored === "string" && stored !== "" && mark.bodyHash !== undefined;
  return isKnown && stored !== mark.bodyHash ? "other_body" : "again";
}

function vanished(): DatabaseError {
  return new DatabaseError("busy", new Error("the row of this event was repeatedly deleted by a purge"));
}
