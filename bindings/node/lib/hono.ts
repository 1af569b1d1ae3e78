/**
 * Hono, on Node.
 *
 * ```ts
 * app.post("/webhooks/stripe", webhook({ source: stripe, inbox: billing, db: pool }, async (event, client) => { … }));
 * ```
 */

import { isBytes } from "./bytes.js";
import { readBody, respond } from "./fetch.js";
import { type Route, type Work, parsedBody } from "./handle.js";
import type { Reply, Source } from "./source.js";

export type { Route, Work, WorkReply } from "./handle.js";

/** The part of Hono's context that is needed. */
export interface HonoContext {
  readonly req: {
    readonly raw: Request;
    bodyCache: object;
    arrayBuffer(): Promise<ArrayBuffer>;
  };
}

export function webhook<Db extends object, Context extends HonoContext = HonoContext>(
  route: Route<Db>,
  work: Work<Db, Context>,
): (context: Context) => Promise<Response> {
  return (context) => respond(route, work, context.req.raw, context, () => read(context, route.source));
}

/** Hono keeps what was read first, and makes other forms from it; only of bytes and text can the bytes be had again. */
async function read({ req }: HonoContext, source: Source): Promise<Uint8Array | Reply> {
  if (!req.raw.bodyUsed) {
    const body = await readBody(req.raw, source);
    // So that `c.req.json()` works after us.
    if (isBytes(body)) Object.assign(req.bodyCache, { arrayBuffer: Promise.resolve(toArrayBuffer(body)) });
    return body;
  }
  const kept = Object.keys(req.bodyCache);
  if (!kept.some((form) => form === "arrayBuffer" || form === "text" || form === "blob")) {
    throw parsedBody(
      kept.length === 0 ? "`c.req.raw`, which can be read once" : "`c.req.parseBody()`, `c.req.formData()` or a validator",
      "register this route before the middleware that reads the body, or read it there with `c.req.arrayBuffer()`",
    );
  }
  const body = new Uint8Array(await req.arrayBuffer());
  return body.length > source.bodyLimit ? source.tooLarge() : body;
}

function toArrayBuffer(body: Uint8Array): ArrayBuffer {
  return body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength) as ArrayBuffer;
}
