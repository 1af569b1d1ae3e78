/** Every vector of every provider, through the native module: judged as in Rust. */

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { describe, expect, it } from "vitest";

import { native } from "../dist/native.js";
import type { NativeEvent, Received, Refusal, Reply } from "../native.js";

interface ExpectedEvent {
  id: string | null;
  type: string | null;
}

interface ExpectedResponse {
  status: number;
  content_type?: string;
  headers?: Record<string, string>;
  body?: string;
  json?: unknown;
  outbound_get?: string;
}

interface Vector {
  name: string;
  secrets: string[];
  public_keys?: string[] | null;
  config: Record<string, unknown>;
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | null;
  body_base64?: string;
  now: number;
  valid: boolean;
  expected_event_id?: string | null;
  expected_event_ids?: ExpectedEvent[];
  expected_event_type?: string | null;
  expected_response?: ExpectedResponse;
}

const FOLDER = join(import.meta.dirname, "../../../crates/hapax-verify/tests/vectors");
const FILES = new Map(
  readdirSync(FOLDER).map((file) => {
    const { vectors } = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as { vectors: Vector[] };
    return [basename(file, ".json"), vectors];
  }),
);
const PROVIDERS = new Map(native().providers().map((provider) => [provider.name, provider]));
// What a library refuses although it is genuine. The first: the provider sends a secret, and there is nowhere to keep it. The
// second: a signature over an empty body says nothing about the query, so a GET is no delivery, as at the gateway.
const REFUSED = new Map([
  ["asana-handshake", "handshake_refused"],
  ["zendesk-valid-empty-body", "method_not_allowed"],
]);

it("has vectors for every provider, and a provider for every file", () => {
  expect(new Set(FILES.keys())).toEqual(new Set(PROVIDERS.keys()));
});

describe.each([...FILES])("%s", (provider, vectors) => {
  it.each(vectors)("$name", (vector) => {
    for (let delivery = 0; delivery < 2; delivery += 1) judge(vector, received(provider, vectors, vector));
  });
});

function judge(vector: Vector, { events, reply, error }: Received): void {
  const expected = vector.expected_response;
  if (REFUSED.has(vector.name)) {
    expect(error?.code).toBe(REFUSED.get(vector.name));
  } else if (error?.confirmation !== undefined) {
    expect(error.confirmation.url).toBe(expected?.outbound_get);
    compareReply(expected!, error.confirmation.reply);
  } else if (!vector.valid) {
    expect(error).toBeDefined();
    expect(reply?.status).toBe(expected?.status ?? reply?.status);
    expect(events).toBeUndefined();
  } else if (error !== undefined) {
    expect(isOnlyUnidentified(vector, error), error.message).toBe(true);
  } else if (events === undefined) {
    compareReply(expected!, reply!);
  } else {
    compareEvents(vector, events);
  }
}

function received(provider: string, vectors: Vector[], vector: Vector): Received {
  const { certificates = {}, jwks = {}, ...config } = vector.config as Record<string, Record<string, unknown>>;
  const keys = Object.entries({ ...certificates, ...jwks }).map(([id, key]) => [id, typeof key === "string" ? key : JSON.stringify(key)]);
  const { needsSecret, options: known } = PROVIDERS.get(provider)!;
  const options = Object.entries(config)
    .filter(([name]) => known.some((option) => option.name === name))
    .map(([name, value]) => [name, typeof value === "object" ? value : String(value)]);
  let secrets = [...vector.secrets, ...(vector.public_keys ?? [])];
  // A handshake that needs no secret is tried on a source that has one.
  if (secrets.length === 0 && needsSecret) secrets = vectors.find((other) => other.secrets.length > 0)!.secrets;
  const [publicUrl, query = ""] = vector.url.split("?");
  const source = native().Source.provider(provider, secrets, { options: Object.fromEntries(options), publicUrl });
  const body = vector.body_base64 === undefined ? Buffer.from(vector.body ?? "") : Buffer.from(vector.body_base64, "base64");
  const headers = Object.entries(vector.headers).map(([name, value]) => [name, Buffer.from(value)] as const);
  return source.receive(vector.method, query, headers, body, vector.now, Object.fromEntries(keys));
}

/** A published signature without an id: it is valid, but the delivery cannot be identified. */
function isOnlyUnidentified(vector: Vector, error: Refusal): boolean {
  const expectsNone = !vector.expected_event_id && !vector.expected_event_ids;
  return expectsNone && ["event_id_missing", "malformed_body"].includes(error.code);
}

function compareEvents(vector: Vector, events: NativeEvent[]): void {
  const found = events.map(({ eventId, eventType }) => ({ id: providerId(eventId), type: eventType ?? null }));
  if (vector.expected_event_ids) expect(found).toEqual(vector.expected_event_ids);
  else expect(found[0]?.id ?? null).toBe(vector.expected_event_id ?? null);
  expect(found[0]?.type ?? null).toBe(vector.expected_event_type ?? null);
}

/** Unescaped; `%-` marks a part that is missing. Null if the id is not the provider's. */
function providerId(eventId: string): string | null {
  return /^(generated|unidentified):/.test(eventId) ? null : decodeURIComponent(eventId.replaceAll("%-", ""));
}

function compareReply(expected: ExpectedResponse, reply: Reply): void {
  const headers = new Map(reply.headers.map(([name, value]) => [name.toLowerCase(), value]));
  expect(reply.status).toBe(expected.status);
  if (expected.content_type !== undefined) expect(headers.get("content-type")?.split(";")[0]).toBe(expected.content_type);
  for (const [name, value] of Object.entries(expected.headers ?? {})) expect(headers.get(name.toLowerCase())).toBe(value);
  if (expected.body !== undefined) expect(reply.body.toString()).toBe(expected.body);
  if (expected.json !== undefined) expect(JSON.parse(reply.body.toString())).toEqual(expected.json);
}
