/** A source: whose deliveries are accepted, how they are verified, and how they are answered. */

import type {
  Headers,
  KeyRequest,
  Keys,
  Native,
  Options,
  Refusal,
  Reply,
  Word,
} from "./native_types.js";
import { SetupError } from "./errors.js";
import { type Event, verifiedEvent } from "./event.js";
import { KeyRing } from "./key_ring.js";
import { calling } from "./native.js";
import { Sample, type SampleOptions, type Sign } from "./sample.js";

export type { Headers, Refusal, Reply };

export interface ProviderOptions {
  /** Any of them may match: rotation without downtime. The first one signs samples. */
  readonly secrets: readonly string[];
  /** What the provider needs besides, such as `webhook_id` or `verify_token`. `hapax providers NAME` lists it. */
  readonly options?: Options;
  /** The scope of the event ids in the inbox. The provider's name unless set. */
  readonly sourceName?: string;
  /** For providers that sign the URL. Never taken from the request. */
  readonly publicUrl?: string;
  readonly bodyLimit?: number;
  /** For samples only: the private half, where `secrets` has public keys. */
  readonly signingSecret?: string;
}

export interface CustomOptions {
  readonly secrets: readonly string[];
  readonly publicUrl?: string;
  readonly bodyLimit?: number;
  readonly signingSecret?: string;
}

export interface HapaxOptions {
  /** The `secret` of the destination in `hapax.toml`. */
  readonly secrets: readonly string[];
  /** The scope of the keys in the inbox: `hapax` unless set. */
  readonly sourceName?: string;
  readonly bodyLimit?: number;
}

/** A request as a framework has it. */
export interface RawRequest {
  readonly method: string;
  /** Without the `?`. */
  readonly query: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Either the events of a request, or the reply that it gets without any: a handshake, or a refusal with its reason. */
export type Received =
  | { readonly events: readonly Event[] }
  | { readonly events?: undefined; readonly reply: Reply; readonly refusal?: Refusal };

const KEYS_FETCHED_MAX = 3;

export class Source {
  readonly #native: Native.Source;
  readonly #keys = new KeyRing();
  readonly name: string;
  readonly bodyLimit: number;

  private constructor(native: Native.Source) {
    this.#native = native;
    this.name = native.name;
    this.bodyLimit = native.bodyLimit;
    Object.freeze(this);
  }

  /** One of the providers that `hapax providers` lists: they call your route directly. */
  static provider(name: string, options: ProviderOptions): Source {
    const secrets = secretsOf(options, name);
    return new Source(calling((module) => module.Source.provider(name, secrets, options)));
  }

  /** A provider without a preset. `scheme` is what `[sources.NAME]` of hapax.toml has: `verify`, `event_id`, `event_type`. */
  static custom(name: string, scheme: object, options: CustomOptions): Source {
    const secrets = secretsOf(options, name);
    return new Source(calling((module) => module.Source.custom(name, JSON.stringify(scheme), secrets, options)));
  }

  /** Behind Hapax: the gateway verifies the provider, and signs what it delivers to your route. */
  static hapax(options: HapaxOptions): Source {
    const secrets = secretsOf(options, "hapax");
    return new Source(calling((module) => module.Source.hapax(secrets, options)));
  }

  /** Verifies a request and identifies its events. A key that has to be fetched from the provider is fetched. */
  async receive(request: RawRequest, now?: number): Promise<Received> {
    let keys: Keys | undefined = this.#keys.known();
    for (let fetched = 0; ; fetched += 1) {
      const received = this.#receive(request, now, keys);
      const wanted: KeyRequest | undefined = "reply" in received ? received.refusal?.needsKey : undefined;
      if (wanted === undefined || fetched >= KEYS_FETCHED_MAX) return received;
      const key = await this.#keys.fetch(wanted);
      if (key === undefined) return received;
      keys = { ...keys, [wanted.keyId]: key };
    }
  }

  #receive({ method, query, headers, body }: RawRequest, now: number | undefined, keys: Keys | undefined): Received {
    const received = calling(() => this.#native.receive(method, query, headers, body, now ?? null, keys ?? null));
    if (received.events !== undefined) return { events: received.events.map((event) => verifiedEvent(event, body)) };
    if (received.reply === undefined) throw new SetupError("the native module returned neither events nor a reply");
    return { reply: received.reply, ...(received.error === undefined ? {} : { refusal: received.error }) };
  }

  /** The likely mistake behind a refused request, for its developer. */
  explain({ method, query, headers, body }: RawRequest, now?: number): string | undefined {
    return calling(() => this.#native.explain(method, query, headers, body, now ?? null)) ?? undefined;
  }

  /** A delivery as the provider would send and sign it, for tests. */
  sample(eventType?: string, options: SampleOptions = {}): Sample {
    const type = eventType === undefined ? {} : { eventType };
    const sign: Sign = (given) => calling(() => this.#native.sample({ ...type, ...given }));
    return new Sample(sign, options);
  }

  tooLarge(): Reply {
    return this.#native.tooLarge();
  }

  tooSlow(): Reply {
    return this.#native.tooSlow();
  }

  /** The reply for the outcome of an event, or of each of a batch. */
  answer(outcomes: ReadonlyArray<readonly [Word, string]>): Reply {
    return this.#native.answer(outcomes);
  }

  /** The reply after the work failed: 500, so that the provider delivers again. */
  answerFailed(): Reply {
    return this.#native.answerFailed();
  }

  /** The reply while the database is unavailable: 503 with `Retry-After`. */
  answerUnavailable(): Reply {
    return this.#native.answerUnavailable();
  }
}

/** An unset environment variable must not become a secret. */
function secretsOf({ secrets }: { readonly secrets: readonly string[] }, name: string): readonly string[] {
  const isList = Array.isArray(secrets) && secrets.every((secret) => typeof secret === "string" && secret !== "");
  if (isList) return secrets;
  throw new SetupError(
    `the secrets of the source ${name} must be a list of strings, none of them empty; is an environment variable unset? ` +
      'Pass for example { secrets: [process.env.STRIPE_WEBHOOK_SECRET ?? ""] } and set the variable',
  );
}
