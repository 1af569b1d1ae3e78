/**
 * Fastify: an encapsulated plugin, so that its body parser is no other route's.
 *
 * ```ts
 * app.register(webhook({ url: "/webhooks/stripe", source: stripe, inbox: billing, db: pool }, async (event, client) => { … }));
 * ```
 */

import type { IncomingMessage } from "node:http";

import { isBytes } from "./bytes.js";
import { type Answer, type Route, type Work, failure, handle, printed } from "./handle.js";
import { rawRequest } from "./node_body.js";

export type { Route, Work, WorkReply } from "./handle.js";

export interface FastifyRoute<Db extends object> extends Route<Db> {
  readonly url: string;
  /** `["POST"]` unless set; add `GET` if the provider's handshake needs it. */
  readonly method?: readonly string[];
}

/** The parts of Fastify that are needed. */
interface Instance {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(type: string, options: object, parser: (...args: any[]) => void): void;
  setErrorHandler(handler: (error: any, request: any, reply: any) => unknown): void;
  route(options: object): unknown;
}

interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly body: unknown;
  readonly log?: { error(...args: unknown[]): void };
}

export function webhook<Db extends object, Request extends FastifyRequestLike = FastifyRequestLike>(
  route: FastifyRoute<Db>,
  work: Work<Db, Request>,
): (instance: any) => Promise<void> {
  const { source } = route;
  return async (instance: Instance) => {
    instance.removeAllContentTypeParsers();
    const options = { parseAs: "buffer", bodyLimit: source.bodyLimit };
    instance.addContentTypeParser("*", options, (_request, body, done) => done(null, body));
    instance.setErrorHandler((error, _request, reply) =>
      error.code === "FST_ERR_CTP_BODY_TOO_LARGE" ? send(reply, source.tooLarge()) : reply.send(error),
    );
    instance.route({
      method: route.method ?? ["POST"],
      url: route.url,
      bodyLimit: source.bodyLimit,
      handler: async (request: Request, reply: any) => send(reply, await answered(route, work, request)),
    });
  };
}

async function answered<Db extends object, Request extends FastifyRequestLike>(
  route: FastifyRoute<Db>,
  work: Work<Db, Request>,
  request: Request,
): Promise<Answer> {
  try {
    const body = isBytes(request.body) ? request.body : new Uint8Array(0);
    return await handle(route, work, rawRequest(request.raw, body), request);
  } catch (error) {
    (route.onError ?? printed)(error);
    return failure(route.source, error);
  }
}

async function send(reply: any, answer: Answer): Promise<unknown> {
  const body = "arrayBuffer" in answer ? Buffer.from(await answer.arrayBuffer()) : answer.body;
  for (const [name, value] of answer.headers as Iterable<[string, string]>) reply.header(name, value);
  return reply.code(answer.status).send(body);
}
