/** Errors: each says what happened, why, and what to do. A duplicate is not an error: see `Outcome`. */

import type { Trouble } from "../native.js";

export type { Trouble };

const BRAND = Symbol.for("hapax-webhooks.error");

export type ErrorCode =
  | "Invalid"
  | "InvalidCall"
  | "SetupError"
  | "DatabaseError"
  | "MissingTable"
  | "Broken"
  | "UnknownCommit"
  | "WrongTransaction"
  | "ParsedBody";

/** The base of all errors of this package. */
export class HapaxError extends Error {
  readonly [BRAND] = true;
  readonly code: ErrorCode;
  /** Whether the same event may be run again at once, without waiting for a redelivery. */
  readonly isRetryable: boolean;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; isRetryable?: boolean } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = code;
    this.code = code;
    this.isRetryable = options.isRetryable ?? false;
  }
}

/** Whether `error` is one of this package, even if the package was loaded more than once. */
export function isHapaxError(error: unknown): error is HapaxError {
  return typeof error === "object" && error !== null && BRAND in error;
}

/** A source, event id or consumer cannot be used. */
export class Invalid extends HapaxError {
  constructor(message: string) {
    super("Invalid", message);
  }
}

/** A call cannot be staged. */
export class InvalidCall extends HapaxError {
  constructor(message: string) {
    super("InvalidCall", message);
  }
}

/** The package is configured or installed in a way that cannot work. */
export class SetupError extends HapaxError {
  constructor(message: string, cause?: unknown) {
    super("SetupError", message, cause === undefined ? {} : { cause });
  }
}

/** The body was parsed before its signature could be checked over the raw bytes. */
export class ParsedBody extends HapaxError {
  constructor(message: string) {
    super("ParsedBody", message);
  }
}

/** What was passed is not an open transaction (for `claim` and `stage`), or not a database (for `run`). */
export class WrongTransaction extends HapaxError {
  constructor(message: string, cause?: unknown) {
    super("WrongTransaction", message, cause === undefined ? {} : { cause });
  }
}

const WORDS: Record<Trouble, string> = {
  busy: "another transaction holds a lock that this one needs; deliver the event again",
  victim: "the transaction lost to a concurrent one and nothing was written; run it again",
  unavailable: "the database is unreachable or unavailable; try again later",
  refused: "the database refused a statement",
};

/** The database failed. Nothing was written. */
export class DatabaseError extends HapaxError {
  readonly trouble: Trouble;

  constructor(trouble: Trouble, cause: unknown, code: ErrorCode = "DatabaseError", message?: string) {
    super(code, message ?? `${WORDS[trouble]}: ${messageOf(cause)}`, { cause, isRetryable: trouble !== "refused" });
    this.trouble = trouble;
  }
}

/** The tables do not exist in this database. */
export class MissingTable extends DatabaseError {
  constructor(cause: unknown) {
    super(
      "refused",
      cause,
      "MissingTable",
      `a table of Hapax is missing (${messageOf(cause)}); call \`await createTables(db)\` once, or add the statements of ` +
        "`tablesSql(\"postgres\" | \"sqlite\")` to your migrations (Prisma, Drizzle, Knex); the tables must be in the " +
        "database and the schema in which your handler writes",
    );
  }
}

/**
 * The handler returned, but one of its statements had failed, or it had ended the transaction itself. A commit would have
 * written nothing and reported no error.
 */
export class Broken extends HapaxError {
  constructor(cause: unknown) {
    super(
      "Broken",
      "the handler returned, but its transaction can no longer commit: a statement failed and its error was dropped, or " +
        "the handler sent COMMIT or ROLLBACK itself; let every error through, and leave the transaction's end to the inbox",
      { cause },
    );
  }
}

/** The connection broke during the commit. */
export class UnknownCommit extends HapaxError {
  constructor(cause: unknown) {
    super(
      "UnknownCommit",
      `it is unknown whether the commit took effect: ${messageOf(cause)}; deliver the event again, and the inbox will ` +
        "detect a duplicate",
      { cause, isRetryable: true },
    );
  }
}

/** An error of the native module as one of this package. */
export function fromNative(error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message: string };
  switch (code) {
    case "Invalid":
      return new Invalid(message);
    case "InvalidCall":
      return new InvalidCall(message);
    case "SetupError":
      return new SetupError(message);
    default:
      return error;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error || (typeof error === "object" && error !== null && "message" in error)
    ? String((error as { message: unknown }).message)
    : String(error);
}
