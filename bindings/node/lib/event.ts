/** The event that a claim is about. */

import type { Binding, NativeEvent, ViaHapax } from "../native.js";
import { Invalid } from "./errors.js";
import { calling } from "./native.js";

export type { ViaHapax };

export interface EventOptions {
  /** The raw body, so that a different body under the same id is detected. */
  readonly body?: Uint8Array | string;
  /** The SHA-256 of the raw body, if only that is known. */
  readonly bodyHash?: Uint8Array;
  readonly type?: string;
  /** Above 0: the event deliberately takes effect once more. */
  readonly generation?: number;
  /** Replayed by an operator: if it was applied before, its row is kept longer. */
  readonly replayed?: boolean;
}

/** An event as JSON, for a queue. */
export interface EventJson {
  readonly hapax: 1;
  readonly source: string;
  readonly eventId: string;
  readonly type?: string;
  readonly generation: number;
  readonly replayed: boolean;
  readonly body: string;
  readonly bodyHash?: string;
  readonly binding?: { readonly eventId: string; readonly bodyHash: string };
}

const GENERATION_MAX = 0x7fff_ffff;

/** What the native module knows about an event, under a name that nobody else has. */
const VERIFIED = Symbol("verified");

/** An event as its provider identified it. Immutable: what is claimed was fixed when the delivery was verified. */
export class Event {
  /** The scope in which the id is unique: the source's name. */
  readonly source: string;
  /** The provider's own id, never one that was generated on receipt. */
  readonly eventId: string;
  readonly type: string | undefined;
  /** The raw body. Empty if it is not known. */
  readonly body: Buffer;
  /** In hexadecimal. */
  readonly bodyHash: string | undefined;
  readonly generation: number;
  readonly replayed: boolean;
  readonly receivedAt: Date | undefined;
  readonly signedAt: Date | undefined;
  /** Which of the source's secrets the signature was made with. */
  readonly secretIndex: number | undefined;
  readonly batchIndex: number | undefined;
  /** What the gateway says about the delivery. Not signed, so never part of a claim. */
  readonly viaHapax: ViaHapax | undefined;
  /** A second claim, for providers that do not sign the body. */
  readonly binding: { readonly eventId: string; readonly bodyHash: string } | undefined;

  constructor(source: string, eventId: string, options: EventOptions = {}) {
    const verified = (options as { [VERIFIED]?: Partial<NativeEvent> })[VERIFIED];
    // The native module never returns names that it would refuse.
    if (verified?.source === undefined) {
      checkName("source", source);
      checkName("event id", eventId);
    }
    const generation = options.generation ?? 0;
    if (!Number.isInteger(generation) || generation < 0 || generation > GENERATION_MAX) {
      throw new Invalid(`the generation ${generation} is not a whole number from 0 to ${GENERATION_MAX}`);
    }
    if (options.bodyHash !== undefined && options.bodyHash.length !== 32) {
      throw new Invalid(`the body hash has ${options.bodyHash.length} bytes; pass the 32 bytes of a SHA-256`);
    }
    const { body } = options;
    this.source = source;
    this.eventId = eventId;
    this.type = options.type;
    this.body = body === undefined ? Buffer.alloc(0) : typeof body === "string" ? Buffer.from(body) : bytes(body);
    const hash = options.bodyHash ?? (body === undefined ? undefined : calling((module) => module.bodyHash(this.body)));
    this.bodyHash = hash && hex(hash);
    this.generation = generation;
    this.replayed = options.replayed ?? false;
    this.receivedAt = date(verified?.receivedAt);
    this.signedAt = date(verified?.signedAt);
    this.secretIndex = verified?.secretIndex;
    this.batchIndex = verified?.batchIndex;
    this.viaHapax = verified?.viaHapax;
    const binding = verified?.binding;
    this.binding = binding && { eventId: binding.eventId, bodyHash: hex(binding.bodyHash) };
    Object.freeze(this);
  }

  /** The body, parsed as JSON. */
  json<T = any>(): T {
    return JSON.parse(this.body.toString("utf8")) as T;
  }

  /** The event for a queue. `Event.fromJSON` reads it. */
  toJSON(): EventJson {
    return {
      hapax: 1,
      source: this.source,
      eventId: this.eventId,
      ...(this.type === undefined ? {} : { type: this.type }),
      generation: this.generation,
      replayed: this.replayed,
      body: this.body.toString("base64"),
      ...(this.bodyHash === undefined ? {} : { bodyHash: this.bodyHash }),
      ...(this.binding === undefined ? {} : { binding: this.binding }),
    };
  }

  static fromJSON(json: unknown): Event {
    const given = json as Partial<EventJson> | null | undefined;
    if (given?.hapax !== 1 || typeof given.source !== "string" || typeof given.eventId !== "string") {
      throw new Invalid("this is not an event of Hapax as JSON; put `event.toJSON()` into the queue, as `enqueue` does");
    }
    const { binding } = given;
    const verified = binding && { binding: { eventId: binding.eventId, bodyHash: Buffer.from(binding.bodyHash, "hex") } };
    return new Event(given.source, given.eventId, {
      body: Buffer.from(given.body ?? "", "base64"),
      ...(given.bodyHash === undefined ? {} : { bodyHash: Buffer.from(given.bodyHash, "hex") }),
      ...(given.type === undefined ? {} : { type: given.type }),
      generation: given.generation ?? 0,
      replayed: given.replayed ?? false,
      [VERIFIED]: verified,
    } as EventOptions);
  }
}

/** A verified event of the native module. */
export function verifiedEvent(event: NativeEvent & { binding?: Binding }, requestBody: Uint8Array): Event {
  return new Event(event.source, event.eventId, {
    body: event.body ?? requestBody,
    ...(event.bodyHash === undefined ? {} : { bodyHash: event.bodyHash }),
    ...(event.eventType === undefined ? {} : { type: event.eventType }),
    generation: event.generation,
    replayed: event.replayed,
    [VERIFIED]: event,
  } as EventOptions);
}

/** Refuses what cannot be a part of a key. */
export function checkName(what: "source" | "event id" | "consumer", text: string): void {
  if (typeof text !== "string") throw new Invalid(`the ${what} must be a string, not ${typeof text}`);
  // Two different lone surrogates would be stored as the same bytes.
  if (!isWellFormed(text)) throw new Invalid(`the ${what} is not well-formed Unicode; pass the provider's own id`);
  calling((module) => module.checkName(what, text));
}

function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

function bytes(body: Uint8Array): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function hex(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("hex");
}

function date(seconds: number | undefined): Date | undefined {
  return seconds === undefined ? undefined : new Date(seconds * 1000);
}
