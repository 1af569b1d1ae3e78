/**
 * Next.js: route handlers of the App Router, and API routes of the Pages Router.
 *
 * ```ts
 * // app/webhooks/stripe/route.ts
 * export const runtime = "nodejs";
 * export const { GET, POST } = webhook({ source: stripe, inbox: billing, db: pool }, async (event, client) => { … });
 * ```
 *
 * In next.config: `serverExternalPackages: ["hapax-webhooks"]`, because a bundler cannot pack a native module.
 */

import type { ServerResponse } from "node:http";

import { webhook as nodeWebhook } from "./express.js";
import { webhook as fetchWebhook } from "./fetch.js";
import type { Route, Work } from "./handle.js";
import type { NodeRequest } from "./node_body.js";

export type { Route, Work, WorkReply } from "./handle.js";

export interface RouteHandlers {
  /** For handshakes. */
  GET(request: Request): Promise<Response>;
  POST(request: Request): Promise<Response>;
}

/** The exports of a `route.ts`. */
export function webhook<Db extends object>(route: Route<Db>, work: Work<Db, Request>): RouteHandlers {
  const handler = fetchWebhook(route, work);
  return { GET: handler, POST: handler };
}

/** The default export of a file under `pages/api`, which must also export `config = { api: { bodyParser: false } }`. */
export function pagesWebhook<Db extends object>(
  route: Route<Db>,
  work: Work<Db, NodeRequest>,
): (request: NodeRequest, response: ServerResponse) => Promise<void> {
  return nodeWebhook(route, work);
}
