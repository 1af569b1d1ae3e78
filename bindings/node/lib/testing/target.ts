/** The application under test: where deliveries go. */

import { createServer, request as httpRequest } from "node:http";
import type { IncomingMessage, RequestListener, Server } from "node:http";
import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";

import { type Crash, crashes } from "../crash_point.js";
import { SetupError } from "../errors.js";

/** What is sent. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: ReadonlyArray<readonly [string, string]>;
  readonly body: Buffer;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

export interface Target {
  /** Delivers, with a crash if one is given and the application runs in this process. */
  deliver(sent: Sent, crash?: Crash): Promise<Answered>;
  close(): Promise<void>;
}

type Shape = Record<string, any>;
const nothing = async (): Promise<void> => {};

/**
 * An application as people have it: an Express app, a listener or server of node:http, a Fastify instance, a handler of the
 * Fetch API, an object with `fetch` (Hono) or `POST` (Next.js), or the URL of one that runs elsewhere.
 */
export async function targetOf(app: unknown): Promise<Target> {
  const given = app as Shape;
  if (typeof app === "string" || app instanceof URL) return elsewhere(new URL(app));
  if (typeof given?.inject === "function") return fastify(given);
  if (typeof given?.POST === "function") return fetching((request) => given.POST(request));
  if (typeof given?.fetch === "function") return fetching((request) => given.fetch(request));
  if (typeof given?.address === "function" && typeof given?.emit === "function") {
    return listening((request, response) => void given.emit("request", request, response));
  }
  if (typeof app === "function") {
    const isListener = typeof given.handle === "function" || app.length >= 2;
    return isListener ? listening(app as RequestListener) : fetching(app as (request: Request) => Promise<Response>);
  }
  throw new SetupError(
    `\`twice\` cannot deliver to ${typeof app}; pass an Express app, a Fastify instance, a handler (request) => Response, an ` +
      "object with `fetch` or `POST`, an http.Server, or a URL",
  );
}

function fastify(app: Shape): Target {
  return {
    close: nothing,
    deliver: ({ method, path, headers, body }, crash) =>
      within(crash, async () => {
        const answered = await app.inject({ method, url: path, headers: Object.fromEntries(headers), payload: body });
        return { status: answered.statusCode, text: answered.payload };
      }),
  };
}

function fetching(handler: (request: Request) => Response | Promise<Response>): Target {
  return {
    close: nothing,
    deliver: ({ method, path, headers, body }, crash) =>
      within(crash, async () => {
        const hasBody = method !== "GET" && method !== "HEAD";
        const init = { method, headers: headers as Array<[string, string]>, ...(hasBody ? { body: new Uint8Array(body) } : {}) };
        const answered = await handler(new Request(new URL(path, "http://127.0.0.1"), init));
        return { status: answered.status, text: await answered.text() };
      }),
  };
}

/** Which crash a request carries: taken out again before the application sees it. */
const CRASH = "hapax-twice-crash";

/** A server of ours around the application, so that a crash reaches the request that it is meant for. */
async function listening(listener: RequestListener): Promise<Target> {
  const armed = new Map<string, Crash>();
  const server: Server = createServer((request, response) => {
    const crash = armed.get(String(request.headers[CRASH]));
    removeHeader(request, CRASH);
    void within(crash, async () => listener(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { deliver } = elsewhere(new URL(`http://127.0.0.1:${port}`));
  let number = 0;
  return {
    deliver: async (sent, crash) => {
      if (crash === undefined) return deliver(sent);
      const id = String((number += 1));
      armed.set(id, crash);
      return deliver({ ...sent, headers: [...sent.headers, [CRASH, id]] });
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function removeHeader(request: IncomingMessage, name: string): void {
  delete request.headers[name];
  const at = request.rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
  if (at >= 0) request.rawHeaders.splice(at, 2);
}

/** A URL. Its path counts unless the delivery has one of its own. */
function elsewhere(base: URL): Target {
  const send = base.protocol === "https:" ? httpsRequest : httpRequest;
  return {
    close: nothing,
    deliver: ({ method, path, headers, body }) =>
      new Promise((resolve, reject) => {
        const url = path === "/" ? base : new URL(path, base);
        const named: Record<string, string[]> = {};
        for (const [name, value] of headers) (named[name.toLowerCase()] ??= []).push(value);
        const options = { method, headers: { ...named, "content-length": String(body.length) }, agent: false as const };
        const request = send(url, options, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
          response.on("error", reject);
        });
        request.on("error", reject);
        request.end(body);
      }),
  };
}

function within<T>(crash: Crash | undefined, work: () => Promise<T>): Promise<T> {
  return crash === undefined ? work() : crashes.run(crash, work);
}
