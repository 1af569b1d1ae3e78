/** What a driver's error means, wherever the driver puts the database's own code. */

import type { Trouble } from "../../native.js";
import { Broken, DatabaseError, HapaxError, MissingTable, UnknownCommit, WrongTransaction, isHapaxError } from "../errors.js";
import { native } from "../native.js";
import type { Dialect } from "../statements.js";
import type { AnyObject } from "./driver.js";

const SQLITE_CODES: Record<string, number> = {
  ERROR: 1,
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  INTERRUPT: 9,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  CONSTRAINT: 19,
  MISUSE: 21,
};

/** Prisma's own codes: the connection failed, or the transaction lost to another one. */
const PRISMA: Record<string, Trouble> = {
  P1001: "unavailable",
  P1002: "unavailable",
  P1008: "unavailable",
  P1017: "unavailable",
  P2024: "unavailable",
  P2034: "victim",
};

/** No transaction, no such savepoint, or a transaction that already failed: the handler broke it. */
const BROKEN = new Set(["25P01", "25P02", "3B001"]);

/** An error and its causes. */
function* chain(error: unknown): Generator<AnyObject> {
  for (let at = error, depth = 0; typeof at === "object" && at !== null && depth < 8; depth += 1) {
    yield at as AnyObject;
    const { meta, cause } = at as AnyObject;
    if (typeof meta === "object" && meta !== null) {
      yield meta;
      const inner = meta.driverAdapterError;
      if (typeof inner === "object" && inner !== null) {
        yield inner;
        if (typeof inner.cause === "object" && inner.cause !== null) yield inner.cause;
      }
    }
    at = cause;
  }
}

/** The SQLSTATE of a server's error. A code alone is not enough: EPIPE would pass for one. */
export function sqlstate(error: unknown): string | undefined {
  for (const at of chain(error)) {
    if (typeof at.originalCode === "string" && at.kind !== undefined) return at.originalCode;
    const isFromServer = "severity" in at || ("message" in at && !(at instanceof Error));
    if (isFromServer && typeof at.code === "string" && /^[0-9A-Z]{5}$/.test(at.code)) return at.code;
  }
  return undefined;
}

function sqliteCode(error: unknown): number | undefined {
  for (const at of chain(error)) {
    if (typeof at.errcode === "number") return at.errcode;
    const code = typeof at.originalCode === "string" ? at.originalCode : at.code;
    const name = typeof code === "string" ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined;
    if (name !== undefined) return SQLITE_CODES[name] ?? SQLITE_CODES.ERROR;
  }
  return undefined;
}

/** Whether the connection is closed after this error. */
export function isClosing(error: unknown): boolean {
  return [...chain(error)].some(
    (at) => at.severity === "FATAL" || at.severity === "PANIC" || /^CONNECTION_/.test(String(at.code)),
  );
}

/** What an error of either database means. */
export function troubleOf(error: unknown, dialect: Dialect): Trouble {
  for (const at of chain(error)) {
    const known = typeof at.code === "string" ? PRISMA[at.code] : undefined;
    if (known !== undefined) return known;
  }
  if (dialect === "sqlite") return native().sqliteTrouble(sqliteCode(error) ?? null);
  const state = sqlstate(error);
  // A mistake in a program is not a lost connection.
  if (state === undefined && (isProgramError(error))) return "refused";
  if (state === undefined && isPrisma(error)) return "refused";
  return native().trouble(state ?? null);
}

/** Whether a handler's own error, or one of ours, is worth another run at once. */
export function isRetryable(error: unknown): boolean {
  if (isHapaxError(error)) return error.isRetryable;
  const state = sqlstate(error);
  if (state !== undefined) return native().trouble(state) === "victim";
  for (const at of chain(error)) if (at.code === "P2034") return true;
  return false;
}

/** An error before the commit: nothing was written. */
export function failed(error: unknown, dialect: Dialect): HapaxError {
  if (isHapaxError(error)) return error;
  const message = String((error as AnyObject)?.message ?? error);
  const isMissing =
    dialect === "sqlite" ? /no such table: (\w+\.)?hapax_/.test(fullMessage(error)) : sqlstate(error) === "42P01";
  if (isMissing && /hapax_(inbox|outbox)/.test(fullMessage(error))) return new MissingTable(error);
  if (sqlstate(error) === "25P01") return notOpen(error);
  if (/P2028|Transaction already closed|Transaction API error/.test(`${(error as AnyObject)?.code} ${message}`)) {
    return new WrongTransaction(
      `the transaction is closed (${message}); an interactive transaction of Prisma ends after its \`timeout\` (5 s by ` +
        "default) or when its callback returns: await everything inside the callback, and raise `timeout` if the work needs it",
      error,
    );
  }
  return new DatabaseError(troubleOf(error, dialect), error);
}

/** An error of the last statement before the commit. */
export function broken(error: unknown, dialect: Dialect): HapaxError {
  return troubleOf(error, dialect) === "unavailable" ? failed(error, dialect) : new Broken(error);
}

/** An error of the commit itself. */
export function uncommitted(error: unknown, dialect: Dialect): HapaxError {
  return troubleOf(error, dialect) === "unavailable" ? new UnknownCommit(error) : new DatabaseError(troubleOf(error, dialect), error);
}

/** An error of `RELEASE SAVEPOINT hapax_handler; COMMIT` in one message. */
export function uncommittedOrBroken(error: unknown): HapaxError {
  return BROKEN.has(sqlstate(error) ?? "") ? new Broken(error) : uncommitted(error, "postgres");
}

/** There is no open transaction where one is needed. */
export function notOpen(cause?: unknown): WrongTransaction {
  return new WrongTransaction(
    "no transaction is open on this connection, so the claim would commit alone, before the effect, and a failure in " +
      "between would lose the event; send BEGIN first (pg: `await client.query(\"BEGIN\")`), claim before your COMMIT, or " +
      "use `inbox.run(pool, event, work)`",
    cause,
  );
}

function fullMessage(error: unknown): string {
  return [...chain(error)].map((at) => `${at.message ?? ""} ${at.originalMessage ?? ""} ${at.table ?? ""}`).join(" ");
}

function isProgramError(error: unknown): boolean {
  return /^(Type|Range|Reference|Syntax)Error$/.test(String((error as AnyObject)?.name));
}

function isPrisma(error: unknown): boolean {
  return [...chain(error)].some((at) => typeof at.code === "string" && /^P\d{4}$/.test(at.code));
}
