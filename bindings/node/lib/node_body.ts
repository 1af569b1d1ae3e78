/** Reads the raw body of a request of node:http, and writes an answer. */

import type { IncomingMessage, ServerResponse } from "node:http";

import { isBytes } from "./bytes.js";
import { type Answer, parsedBody } from "./handle.js";
import { limits } from "./native.js";
import type { RawRequest, Reply, Source } from "./source.js";

/** A request as Express, Next Pages, Cloud Functions and plain node:http have it. */
export type NodeRequest = IncomingMessage & { body?: unknown; rawBody?: unknown; originalUrl?: string };

type Read = { readonly body: Uint8Array } | { readonly reply: Reply } | { readonly isGone: true };

/** The raw body, or the reply to one that is too large or too slow. */
export async function readBody(request: NodeRequest, source: Source): Promise<Read> {
  const captured = capturedBody(request);
  if (captured !== undefined) {
    return captured.length > source.bodyLimit ? { reply: source.tooLarge() } : { body: captured };
  }
  if (Number(request.headers["content-length"]) > source.bodyLimit) return { reply: source.tooLarge() };
  return readStream(request, source);
}

/** The bytes that something before us kept. */
function capturedBody(request: NodeRequest): Uint8Array | undefined {
  const { rawBody, body } = request;
  if (isBytes(rawBody)) return rawBody;
  if (typeof rawBody === "string") return Buffer.from(rawBody);
  if (isBytes(body)) return body;
  if (!request.readableDidRead) return undefined;
  const type = String(request.headers["content-type"] ?? "");
  if (typeof body === "string") throw parsedBody("express.text()", FIX);
  if (type.includes("urlencoded")) throw parsedBody("express.urlencoded()", FIX);
  if (type.includes("json")) throw parsedBody("express.json() (or Next's bodyParser)", FIX);
  throw parsedBody("a body parser", FIX);
}

const FIX =
  "register this route before `app.use(express.json())`, or mount the parser only on the other routes, or keep the bytes " +
  "with `express.json({ verify: (req, res, raw) => { req.rawBody = raw } })`; in Next's Pages, export " +
  "`config = { api: { bodyParser: false } }`";

function readStream(request: IncomingMessage, source: Source): Promise<Read> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => end({ reply: source.tooSlow() }), limits().bodyTimeoutSeconds * 1000);
    const end = (read: Read): void => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone);
      // A request that failed after this has nobody to tell.
      request.on("error", () => {});
      resolve(read);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > source.bodyLimit) end({ reply: source.tooLarge() });
      else chunks.push(chunk);
    };
    const onEnd = (): void => end({ body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks) });
    const onGone = (): void => end({ isGone: true });
    request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone);
  });
}

/** The request for verification. */
export function rawRequest(request: NodeRequest, body: Uint8Array): RawRequest {
  const url = request.originalUrl ?? request.url ?? "";
  const query = url.indexOf("?");
  return {
    method: request.method ?? "POST",
    query: query < 0 ? "" : url.slice(query + 1),
    // The form that the native module reads fastest. Node refuses headers with a line break.
    headers: request.rawHeaders.join("\n"),
    body,
  };
}

/** Writes the answer. A body that was not read to its end is cut off with the connection. */
export async function writeAnswer(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
  const body = "arrayBuffer" in answer ? Buffer.from(await answer.arrayBuffer()) : answer.body;
  response.statusCode = answer.status;
  const headers = answer.headers as Iterable<[string, string]>;
  for (const [name, value] of headers) response.setHeader(name, value);
  response.setHeader("content-length", body.length);
  if (!request.readableEnded && !request.complete) response.setHeader("connection", "close");
  response.end(body);
}
