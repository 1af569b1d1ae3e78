/**
 * Webhooks that take effect exactly once, in your own transaction.
 *
 * `Inbox.run` applies an event once; `Inbox.claim` does it in a transaction of your own; `stage` writes a call to another
 * system that is made after the commit. Adapters: `hapax-webhooks/express`, `/fastify`, `/next`, `/hono`, `/fetch`, `/bullmq`.
 * Tests: `hapax-webhooks/vitest`, `/jest`, `/testing`.
 */

import { native } from "./native.js";

export { Call, type CallOptions } from "./call.js";
export {
  Broken,
  DatabaseError,
  type ErrorCode,
  HapaxError,
  Invalid,
  InvalidCall,
  MissingTable,
  ParsedBody,
  SetupError,
  type Trouble,
  UnknownCommit,
  WrongTransaction,
  isHapaxError,
} from "./errors.js";
export { Event, type EventJson, type EventOptions, type ViaHapax } from "./event.js";
export { Inbox, type InboxOptions } from "./inbox.js";
export type { Claim, Outcome } from "./outcome.js";
export { stage, stageSync } from "./outbox.js";
export { Sample, type SampleOptions } from "./sample.js";
export {
  type CustomOptions,
  type HapaxOptions,
  type Headers,
  type ProviderOptions,
  type RawRequest,
  type Received,
  type Refusal,
  type Reply,
  Source,
} from "./source.js";
export { createTables, createTablesSync, purge, purgeSync, tablesSql } from "./tables.js";
/** The limits of names, calls and bodies, and the defaults. */
export { limits } from "./native.js";
export type { Handled } from "./telemetry.js";
export type { TransactionOf } from "./types.js";
export { isRetryable } from "./drivers/failure.js";

/** The providers that `Source.provider` knows. */
export function providers() {
  return native().providers();
}


/** The idempotency key that Hapax sends to a destination. */
export function idempotencyKey(scope: string, eventId: string, generation: number, destination: string): string {
  return native().idempotencyKey(scope, eventId, generation, destination);
}
