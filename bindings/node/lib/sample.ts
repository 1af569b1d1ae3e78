/** A signed sample delivery, and its variants for tests. */

import { randomInt } from "node:crypto";

import { SetupError } from "./errors.js";
import type { Delivery } from "./native_types.js";

export interface SampleOptions {
  readonly eventId?: string;
  /**
   * A body that your handler understands, instead of the provider's own sample. In text, each `{{fresh}}` becomes new letters
   * for every event; without one, another event has another id in the place of this one's.
   */
  readonly body?: Uint8Array | string;
  /** The path of your route, such as `/webhooks/stripe`. */
  readonly path?: string;
  /** When it is signed, in Unix seconds. Now, unless set. */
  readonly now?: number;
}

/** Signs a delivery with what is given, and makes up the rest. */
export type Sign = (given: { eventId?: string; body?: Uint8Array; now?: number }) => Delivery;

const FRESH = "{{fresh}}";

export class Sample {
  readonly method: string;
  readonly path: string;
  readonly headers: ReadonlyArray<readonly [string, string]>;
  readonly body: Buffer;
  readonly eventId: string;
  readonly #sign: Sign;
  readonly #options: SampleOptions;
  /** The body that was signed, if it is not the provider's sample. */
  readonly #own: Buffer | undefined;

  constructor(sign: Sign, options: SampleOptions, own = filled(options.body)) {
    const { eventId, now } = options;
    const delivery = sign({
      ...(eventId === undefined ? {} : { eventId }),
      ...(own === undefined ? {} : { body: own }),
      ...(now === undefined ? {} : { now }),
    });
    this.#sign = sign;
    this.#options = options;
    this.#own = own;
    this.method = delivery.method;
    this.path = routed(delivery.pathQuery, options.path);
    this.headers = delivery.headers;
    this.body = delivery.body;
    this.eventId = delivery.eventId;
    Object.freeze(this);
  }

  /** The same event, signed again, `secondsLater` after now. */
  resigned(secondsLater = 0): Sample {
    const now = Math.floor(Date.now() / 1000) + secondsLater;
    return new Sample(this.#sign, { ...this.#options, eventId: this.eventId, now }, this.#own);
  }

  /** Another event of the same kind, signed now. */
  fresh(): Sample {
    const { eventId: _, now: __, ...options } = this.#options;
    const other = new Sample(this.#sign, options);
    if (other.eventId !== this.eventId) return other;
    // The id is in the body, which is the caller's own.
    const text = this.#own?.toString("latin1") ?? "";
    const id = Buffer.from(this.eventId).toString("latin1");
    if (!text.includes(id)) {
      throw new SetupError(
        `the event's id (${this.eventId}) is made of several parts of the body; write ${FRESH} into one of them`,
      );
    }
    const body = Buffer.from(text.split(id).join(anotherId(id)), "latin1");
    return new Sample(this.#sign, { ...options, body });
  }
}

/** Numbers stay numbers. */
function anotherId(id: string): string {
  return /^\d+$/.test(id) ? `${id.slice(0, 4)}${randomInt(1e9, 1e10)}` : `${id}_${letters()}`;
}

function filled(body: Uint8Array | string | undefined): Buffer | undefined {
  if (body === undefined) return undefined;
  return typeof body === "string" ? Buffer.from(body.split(FRESH).join(letters())) : Buffer.from(body);
}

function letters(): string {
  return Array.from({ length: 10 }, () => "abcdefghijklmnopqrstuvwxyz"[randomInt(26)]).join("");
}

/** The path of the user's route, with the query that the signer added. */
function routed(pathQuery: string, path: string | undefined): string {
  if (path === undefined) return pathQuery;
  const query = pathQuery.indexOf("?");
  return query < 0 ? path : path + pathQuery.slice(query);
}
