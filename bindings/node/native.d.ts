/**
 * The native module: verification, identity, signing and answers, the same code as the Rust library and the gateway.
 *
 * It does no I/O, and reads the clock only where `now` is left out. Times are Unix seconds unless a name says otherwise.
 * Every function throws a `NativeError` on bad input.
 */

/**
 * Names in any case; a header that occurs twice is listed twice. A string value is encoded as Latin-1, as Node has it.
 * One string, `name\nvalue\nname\nvalue…`, is many times faster to pass than a list.
 */
export type Headers = string | ReadonlyArray<readonly [string, string | Uint8Array]>
export type Options = Readonly<Record<string, string | readonly string[] | Readonly<Record<string, string>>>>
/** Fetched keys by `KeyRequest.keyId`: a PEM certificate by its URL, a JSON Web Key by its id. */
export type Keys = Readonly<Record<string, string | Uint8Array>>
export type Trouble = 'busy' | 'victim' | 'unavailable' | 'refused'
export type Word = 'processed' | 'duplicate' | 'conflict' | 'in_flight'

/** Bad input: an `Error` with a `code`. No secret is ever part of its message. */
export interface NativeError extends Error {
  code: 'Invalid' | 'InvalidCall' | 'SetupError'
}

export interface OptionInfo {
  name: string
  about: string
  kind: 'text' | 'secret' | 'list' | 'table'
  required: boolean
}

export interface ProviderInfo {
  name: string
  title: string
  docs: string[]
  needsSecret: boolean
  options: OptionInfo[]
}

export interface Limits {
  nameBytesMax: number
  purgeRowsMax: number
  targetBytesMax: number
  headersMax: number
  bodyBytesMax: number
  bodyTimeoutSeconds: number
  waitMsDefault: number
  retentionSecondsDefault: number
  claimAttemptsMax: number
}

/**
 * Statements with the placeholders `$1`… (postgres) or `?1`… (sqlite). Their parameters:
 *
 * - claim: scope, event_id, consumer, generation, body_hash, retention_seconds; a first claim affects 1 row, any other 0
 * - lookUp: scope, event_id, consumer, generation; at most one row with `body_hash`
 * - extend: scope, event_id, consumer, generation, retention_seconds
 * - purge: rows_max
 * - stage: consumer, scope, event_id, kind, target, headers (JSON text), body, idempotency_key or null, order_key or null
 * - claimWithin: those of claim, and the maximum wait, such as '1500ms'; a first claim returns 1 row, any other none
 */
export interface Sql {
  createInbox: string
  createOutbox: string
  claim: string
  lookUp: string
  extend: string
  purge: string
  stage: string
  /** Only postgres. */
  claimWithin?: string
}

export function version(): string
export function providers(): ProviderInfo[]
export function limits(): Limits
export function sql(dialect: 'postgres' | 'sqlite'): Sql
/** What an error of PostgreSQL means; without an SQLSTATE, the connection is lost. */
export function trouble(sqlstate?: string | null): Trouble
/** What an error of SQLite means. An extended code is reduced to its primary one. */
export function sqliteTrouble(primaryCode?: number | null): Trouble
export function checkName(what: 'source' | 'event id' | 'consumer', text: string): void
export function idempotencyKey(scope: string, eventId: string, generation: number, destination: string): string
export function callKey(scope: string, eventId: string, generation: number, consumer: string, number: number): string
export function bodyHash(body: Uint8Array): Buffer
/** Refuses a call that cannot be made, and returns its headers as the outbox stores them: JSON text, lower-case names. */
export function checkCall(
  kind: 'http' | 'destination',
  target: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  key?: string | null,
  orderKey?: string | null,
): string

/** A response. Send exactly these headers and this body. */
export interface Reply {
  status: number
  headers: Array<[string, string]>
  body: Buffer
}

/** What the gateway says about a delivery. Not signed, so never part of a claim. */
export interface ViaHapax {
  source?: string
  eventId?: string
  eventType?: string
  attempt?: number
  /** Signed: it is the `webhook-id`. */
  idempotencyKey: string
  /** When the event arrived at the gateway, such as `2026-01-01T00:00:00.000000Z`. */
  receivedAt?: string
}

/** A verified event. */
export interface NativeEvent {
  source: string
  eventId: string
  eventType?: string
  /** Missing if it is the whole body of the request. */
  body?: Buffer
  bodyHash?: Buffer
  generation: number
  replayed: boolean
  receivedAt: number
  signedAt?: number
  secretIndex?: number
  batchIndex?: number
  viaHapax?: ViaHapax
  /**
   * For a provider that does not sign the body (PayPal): an event id and a body hash to claim first, in the same
   * transaction, under the same source, consumer and generation. If that claim finds another body, the event is a
   * conflict; otherwise (first or again), go on with the claim of the event itself.
   */
  binding?: Binding
}

export interface Binding {
  eventId: string
  bodyHash: Buffer
}

/**
 * A key that has to be fetched before the request can be verified. Fetch it over https without following redirects
 * (without `body`: GET, else POST), check that the response contains `expects`, and call `receive` again with
 * `{ [keyId]: response }`. The URL is already checked against the provider's hosts.
 */
export interface KeyRequest {
  url: string
  keyId: string
  kind: 'published' | 'token' | 'answer'
  headers: Array<[string, string]>
  body?: Buffer
  expects: string
}

/** A URL that the provider wants called (SNS): GET it over https without following redirects; on 2xx send `reply`. */
export interface Confirmation {
  url: string
  reply: Reply
}

/** Why a request is not an event. */
export interface Refusal {
  /** A stable problem code, such as `signature_invalid`. */
  code: string
  message: string
  hint: string
  /** `code` is then `key_unavailable`. */
  needsKey?: KeyRequest
  /** `code` is then `confirmation_failed`. */
  confirmation?: Confirmation
}

/** Either `events`; or `reply` alone: a handshake; or `reply` and `error`: a refusal. */
export interface Received {
  events?: NativeEvent[]
  reply?: Reply
  error?: Refusal
}

/** A signed sample delivery, ready to send. */
export interface Delivery {
  method: string
  /** The path and query of the public URL, with what the signer added; `/` if no public URL is set. */
  pathQuery: string
  headers: Array<[string, string]>
  body: Buffer
  eventId: string
}

export interface ProviderSettings {
  options?: Options
  sourceName?: string
  publicUrl?: string
  bodyLimit?: number
  keys?: Keys
  /** For samples only: the private half, where `secrets` has public keys. */
  signingSecret?: string
}

export interface CustomSettings {
  publicUrl?: string
  bodyLimit?: number
  signingSecret?: string
}

export interface HapaxSettings {
  /** `hapax` unless set. */
  sourceName?: string
  bodyLimit?: number
}

export interface SampleSettings {
  eventType?: string
  eventId?: string
  body?: Uint8Array
  now?: number
}

export class Source {
  private constructor()
  static provider(name: string, secrets: readonly string[], settings?: ProviderSettings | null): Source
  /** `scheme` is JSON: `{"verify": {…}, "event_id": …, "event_type": …}`, as in [sources.NAME] of hapax.toml. */
  static custom(name: string, scheme: string, secrets: readonly string[], settings?: CustomSettings | null): Source
  static hapax(secrets: readonly string[], settings?: HapaxSettings | null): Source
  get name(): string
  get bodyLimit(): number
  receive(
    method: string,
    query: string,
    headers: Headers,
    body: Uint8Array,
    now?: number | null,
    keys?: Keys | null,
  ): Received
  tooLarge(): Reply
  tooSlow(): Reply
  /** One outcome, or those of a batch in its order (also none). Any `in_flight` makes the whole answer 503. */
  answer(outcomes: ReadonlyArray<readonly [Word, string]>): Reply
  answerFailed(): Reply
  answerUnavailable(): Reply
  sample(settings?: SampleSettings | null): Delivery
  explain(
    method: string,
    query: string,
    headers: Headers,
    body: Uint8Array,
    now?: number | null,
    keys?: Keys | null,
  ): string | null
}
