/** Handlers of the Fetch API: `(request: Request) => Promise<Response>`. Next.js route handlers, Hono, Bun, Remix. */

import { isBytes } from "./bytes.js";
import { type Answer, type Route, type Work, failure, handle, parsedBody, printed } from "./handle.js";
import { limits } from "./native.js";
import type { RawRequest, Reply, Source } from "./source.js";

export type { Route, Work, WorkReply } from "./handle.js";

/** A handler for a route of a source. Needs Node: the native module cannot be loaded on an edge runtime. */
export function webhook<Db extends object>(
  route: Route<Db>,
  work: Work<Db, Request>,
): (request: Request) => Promise<Response> {
  return (request) => respond(route, work, request, request, () => readBody(request, route.source));
}

/** Handles a request whose body `read` reads. */
export async function respond<Db extends object, Context>(
  route: Route<Db>,
  work: Work<Db, Context>,
  request: Request,
  context: Context,
  read: () => Promise<Uint8Array | Reply>,
): Promise<Response> {
  try {
    const body = await read();
    if (!(isBytes(body))) return response(body);
    return response(await handle(route, work, rawRequest(request, body), context));
  } catch (error) {
    (route.onError ?? printed)(error);
    return response(failure(route.source, error));
  }
}

/** The raw body, or the reply to one that is too large or too slow. */
export async function readBody(request: Request, source: Source): Promise<Uint8Array | Reply> {
  if (request.bodyUsed) {
    throw parsedBody(
      "`request.json()`, `request.text()` or `request.formData()`",
      "pass the request to this handler unread, and use `event.json()` in the work; if something before needs the body, let it " +
        "read `request.clone()`",
    );
  }
  if (Number(request.headers.get("content-length")) > source.bodyLimit) return source.tooLarge();
  if (request.body === null) return new Uint8Array(0);
  const timeout = AbortSignal.timeout(limits().bodyTimeoutSeconds * 1000);
  const reader = request.body.getReader();
  const expired = new Promise<"expired">((resolve) => timeout.addEventListener("abort", () => resolve("expired")));
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const next = await Promise.race([reader.read(), expired]);
    const isSlow = next === "expired";
    if (!isSlow && next.done) return Buffer.concat(chunks);
    size += isSlow ? 0 : next.value.length;
    if (isSlow || size > source.bodyLimit) {
      // What the provider still sends is of no use.
      reader.cancel().catch(() => {});
      return isSlow ? source.tooSlow() : source.tooLarge();
    }
    chunks.push(next.value);
  }
}

function rawRequest(request: Request, body: Uint8Array): RawRequest {
  const query = request.url.indexOf("?");
  return {
    method: request.method,
    query: query < 0 ? "" : request.url.slice(query + 1),
    headers: [...request.headers],
    body,
  };
}

function response(answer: Answer): Response {
  if ("arrayBuffer" in answer) return answer;
  const isEmpty = answer.status === 204 || answer.status === 304;
  return new Response(isEmpty ? null : new Uint8Array(answer.body), { status: answer.status, headers: answer.headers });
}
