/**
 * Express, and anything with handlers of node:http: `(request, response)`.
 *
 * ```ts
 * app.post("/webhooks/stripe", webhook({ source: stripe, inbox: billing, db: pool }, async (event, client) => {
 *   await client.query("update orders set status = 'paid' where id = $1", [event.json().data.object.id]);
 * }));
 * app.use(express.json()); // after the route: the signature is over the raw bytes
 * ```
 */

import type { ServerResponse } from "node:http";

import { type Route, type Work, failure, handle, printed } from "./handle.js";
import { type NodeRequest, rawRequest, readBody, writeAnswer } from "./node_body.js";

export type { Route, Work, WorkReply } from "./handle.js";

/** Use it for POST, and for GET if the provider's handshake needs that: `app.all(path, webhook(…))`. */
export function webhook<Db extends object, Request extends NodeRequest = NodeRequest>(
  route: Route<Db>,
  work: Work<Db, Request>,
): (request: Request, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const answer = await answered(route, work, request);
    if (answer !== undefined) await writeAnswer(request, response, answer);
  };
}

async function answered<Db extends object, Request extends NodeRequest>(
  route: Route<Db>,
  work: Work<Db, Request>,
  request: Request,
) {
  try {
    const read = await readBody(request, route.source);
    if ("isGone" in read) return undefined;
    if ("reply" in read) return read.reply;
    return await handle(route, work, rawRequest(request, read.body), request);
  } catch (error) {
    (route.onError ?? printed)(error);
    return failure(route.source, error);
  }
}
