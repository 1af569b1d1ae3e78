/** The raw body: found wherever a framework left it, and missed with an error that names the parser and the fix. */

import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { expect, test, vi } from "vitest";
import { Source } from "hapax-webhooks";
import { webhook as expressWebhook } from "hapax-webhooks/express";
import { webhook as fastifyWebhook } from "hapax-webhooks/fastify";
import { webhook as fetchWebhook } from "hapax-webhooks/fetch";
import { webhook as honoWebhook } from "hapax-webhooks/hono";
import { twice } from "hapax-webhooks/testing";

import { targetOf } from "../dist/testing/target.js";
import { PATH, SECRET, billing, paid, smallShop, stripe } from "./support/shop.js";

async function delivered(app: unknown, sample = paid()): Promise<number[]> {
  const target = await targetOf(app);
  const statuses = [(await target.deliver(sample)).status, (await target.deliver(sample)).status];
  await target.close();
  return statuses;
}

const parsers = [
  ["express.json()", express.json(), "application/json"],
  ["express.urlencoded()", express.urlencoded(), "application/x-www-form-urlencoded"],
  ["express.text()", express.text({ type: () => true }), "application/json"],
] as const;

for (const [name, parser, type] of parsers) {
  test(`${name} before the route is named, with the fix`, async () => {
    const { db } = await smallShop();
    const onError = vi.fn();
    const app = express();
    app.use(parser);
    app.post(PATH, expressWebhook({ source: stripe, inbox: billing, db, onError }, () => {}));
    const sample = paid();
    const target = await targetOf(app);
    const headers = [...sample.headers.filter(([header]) => header.toLowerCase() !== "content-type"), ["content-type", type] as const];
    for (let time = 0; time < 2; time += 1) {
      expect(await target.deliver({ ...sample, method: "POST", path: PATH, headers, body: sample.body })).toMatchObject({ status: 500 });
    }
    await target.close();
    const [error] = onError.mock.calls[0] as [Error];
    expect(error).toMatchObject({ code: "ParsedBody" });
    expect(error.message).toContain(name);
    expect(error.message).toContain("register this route before `app.use(express.json())`");
  });
}

test("a parser that keeps the bytes in rawBody does no harm", async () => {
  const { db, book, payments } = await smallShop();
  const app = express();
  app.use(express.json({ verify: (request, _response, raw) => Object.assign(request, { rawBody: raw }) }));
  app.post(PATH, expressWebhook({ source: stripe, inbox: billing, db, onError: () => {} }, (event) => void book(event.eventId)));
  await twice(app, paid(), { effects: payments });
});

test("Express takes bodies beyond the 100 kB of its own parsers, up to the source's limit", async () => {
  const { db, book, payments } = await smallShop();
  const small = Source.provider("stripe", { secrets: [SECRET], bodyLimit: 300_000 });
  const app = express();
  app.post(PATH, expressWebhook({ source: small, inbox: billing, db }, (event) => void book(event.eventId)));
  const sized = (bytes: number) =>
    small.sample("invoice.paid", { path: PATH, body: JSON.stringify({ id: `evt_${bytes}`, object: "event", type: "invoice.paid", pad: "x".repeat(bytes) }) });
  expect(await delivered(app, sized(200_000))).toEqual([200, 200]);
  expect(await delivered(app, sized(400_000))).toEqual([413, 413]);
  expect(payments()).toBe(1);
});

test("a chunked body over the limit is refused by every framework", async () => {
  const { db } = await smallShop();
  const small = Source.provider("stripe", { secrets: [SECRET], bodyLimit: 1000 });
  const handler = fetchWebhook({ source: small, inbox: billing, db }, () => {});
  const endless = () => new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(400)) });
  for (let time = 0; time < 2; time += 1) {
    const request = new Request("http://shop.test/", { method: "POST", body: endless(), duplex: "half" } as RequestInit);
    expect((await handler(request)).status).toBe(413);
  }
});

test("a request that was read before is refused with the fix", async () => {
  const { db } = await smallShop();
  const onError = vi.fn();
  const handler = fetchWebhook({ source: stripe, inbox: billing, db, onError }, () => {});
  for (let time = 0; time < 2; time += 1) {
    const sample = paid();
    const request = new Request("http://shop.test/", { method: "POST", headers: sample.headers as [string, string][], body: new Uint8Array(sample.body) });
    await request.json();
    expect((await handler(request)).status).toBe(500);
  }
  expect(onError.mock.calls[0]?.[0]).toMatchObject({ code: "ParsedBody", message: expect.stringContaining("request.clone()") });
});

test("Hono's cache serves the bytes before and after the route", async () => {
  const { db, book, payments } = await smallShop();
  const after: string[] = [];
  const app = new Hono();
  app.use(async (context, next) => {
    if (context.req.header("x-read-first")) await context.req.text();
    await next();
    after.push((await context.req.json<{ type: string }>()).type);
  });
  app.post(PATH, honoWebhook({ source: stripe, inbox: billing, db }, (event) => void book(event.eventId)));
  const sample = paid();
  for (const extra of [{}, { "x-read-first": "1" }] as Record<string, string>[]) {
    const headers = [...sample.headers, ...Object.entries(extra)] as [string, string][];
    const response = await app.fetch(new Request(`http://shop.test${PATH}`, { method: "POST", headers, body: new Uint8Array(sample.body) }));
    expect(response.status).toBe(200);
  }
  expect([after, payments()]).toEqual([["invoice.paid", "invoice.paid"], 1]);
});

test("a request that Hono's middleware read past its cache is refused with the fix", async () => {
  const { db } = await smallShop();
  const onError = vi.fn();
  const app = new Hono();
  app.use(async (context, next) => {
    await context.req.raw.formData();
    await next();
  });
  app.post(PATH, honoWebhook({ source: stripe, inbox: billing, db, onError }, () => {}));
  for (let time = 0; time < 2; time += 1) {
    const form = new URLSearchParams({ a: "b" });
    expect((await app.fetch(new Request(`http://shop.test${PATH}`, { method: "POST", body: form }))).status).toBe(500);
  }
  expect(onError.mock.calls[0]?.[0]).toMatchObject({ code: "ParsedBody", message: expect.stringContaining("c.req.arrayBuffer()") });
});

test("Fastify: the plugin's parser is no other route's, and its limit is the source's", async () => {
  const { db, book, payments } = await smallShop();
  const small = Source.provider("stripe", { secrets: [SECRET], bodyLimit: 2_000_000 });
  const app = Fastify({ bodyLimit: 1000 });
  app.register(fastifyWebhook({ url: PATH, source: small, inbox: billing, db }, (event) => void book(event.eventId)));
  app.post("/json", async (request) => ({ got: request.body }));
  const sized = (bytes: number) =>
    small.sample("invoice.paid", { path: PATH, body: JSON.stringify({ id: `evt_${bytes}`, object: "event", type: "invoice.paid", pad: "x".repeat(bytes) }) });
  expect(await delivered(app, sized(1_500_000))).toEqual([200, 200]);
  expect(await delivered(app, sized(2_500_000))).toEqual([413, 413]);
  const other = await app.inject({ method: "POST", url: "/json", payload: { a: 1 } });
  expect([other.json(), payments()]).toEqual([{ got: { a: 1 } }, 1]);
  const untyped = paid();
  const headers = Object.fromEntries(untyped.headers.filter(([name]) => name.toLowerCase() !== "content-type"));
  for (let time = 0; time < 2; time += 1) {
    const bare = await app.inject({ method: "POST", url: PATH, headers, payload: untyped.body });
    expect(bare.statusCode).toBe(200);
  }
  expect(payments()).toBe(2);
});
