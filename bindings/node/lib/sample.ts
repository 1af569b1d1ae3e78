/** A signed sample delivery, and its variants for tests. */

import type { Delivery } from "./native_types.js";

export interface SampleOptions {
  readonly eventId?: string;
  /** A body that your handler understands, instead of the provider's own sample. */
  readonly body?: Uint8Array | string;
  /** The path of your route, such as `/webhooks/stripe`. */
  readonly path?: string;
  /** When it is signed, in Unix seconds. Now, unless set. */
  readonly now?: number;
}

type Sign = (eventId: string | undefined, now: number | undefined) => Delivery;

export class Sample {
  readonly method: string;
  readonly path: string;
  readonly headers: ReadonlyArray<readonly [string, string]>;
  readonly body: Buffer;
  readonly eventId: string;
  readonly #sign: Sign;
  readonly #options: SampleOptions;

  constructor(sign: Sign, options: SampleOptions) {
    const delivery = sign(options.eventId, options.now);
    this.#sign = sign;
    this.#options = options;
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
    return new Sample(this.#sign, { ...this.#options, eventId: this.eventId, now });
  }

  /** Another event of the same kind. */
  fresh(): Sample {
    const { eventId: _, ...options } = this.#options;
    return new Sample(this.#sign, options);
  }
}

/** The path of the user's route, with the query that the signer added. */
function routed(pathQuery: string, path: string | undefined): string {
  if (path === undefined) return pathQuery;
  const query = pathQuery.indexOf("?");
  return query < 0 ? path : path + pathQuery.slice(query);
}
