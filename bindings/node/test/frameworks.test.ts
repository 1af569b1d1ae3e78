/** Every framework, with every plan of `twice`: each event takes effect once. */

import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { expect, test, vi } from "vitest";
import { Source, createTables } from "hapax-webhooks";
import { webhook as expressWebhook } from "hapax-webhooks/express";
import { webhook as fastifyWebhook } from "hapax-webhooks/fastify";
import { webhook as fetchWebhook } from "hapax-webhooks/fetch";
import { webhook as honoWebhook } from "hapax-webhooks/hono";
import { pagesWebhook, webhook as nextWebhook } from "hapax-webhooks/next";
import { twice } from "hapax-webhooks/testing";

import { PATH, billing, paid, shop, smallShop, stripe } from "./support/shop.js";

const ALL = ["again", "concurrent", "late", "out-of-order", "tampered", "crash"];

type Shop = Awaited<ReturnType<typeof shop>>;
const quiet = () => {};

const apps: Record<string, (shop: Shop) => unknown> = {
  express: ({ pool, book }) => {
    const app = express();
    app.post(PATH, expressWebhook({ source: stripe, inbox: billing, db: pool, onError: quiet }, async (event, client) => {
      await book(client, event.eventId);
    }));
    app.use(express.json());
    return app;
  },
  "express behind express.raw": ({ pool, book }) => {
    const app = express();
    app.use(express.raw({ type: () => true }));
    app.post(PATH, expressWebhook({ source: stripe, inbox: billing, db: pool, onError: quiet }, async (event, client) => {
      await book(client, event.eventId);
    }));
    return app;
  },
  "pages of Next": ({ pool, book }) =>
    pagesWebhook({ source: stripe, inbox: billing, db: pool, onError: quiet }, async (event, client) => {
      await book(client, event.eventId);
    }),
  fastify: ({ pool, book }) => {
    const app = Fastify();
    app.register(fastifyWebhook({ url: PATH, source: stripe, inbox: billing, db: pool, onError: quiet }, async (event, client) => {
      await book(client, event.eventId);
    }));
    return app;
  },
  "a fetch handler": ({ pool, book }) =>
    fetchWebhook({ source: stripe, inbox: billing, db: pool, onError: quiet }, async (event, client) => {
      await book(client, event.eventId);
    }),
  "a route of Next": ({ pool, book }) =>
    nextWebhook({ source: stripe, inbox: billing, db: pool, onError: quiet }, async (event, client) => {
      await book(client, event.eventId);
    }),
  hono: ({ pool, book }) => {
    const app = new Hono();
    app.post(PATH, honoWebhook({ source: stripe, inbox: billing, db: pool, onError: quiet }, async (event, client) => {
      await book(client, event.eventId);
    }));
    return app;
  },
};

for (const [name, app] of Object.entries(apps)) {
  test(`${name}: an event takes effect once under every plan`, async () => {
    const at = await shop();
    const report = await twice(app(at), paid(), { effects: at.payments });
    expect(report.plans.map(({ plan }) => plan)).toEqual(ALL);
    expect(report.skipped).toEqual([]);
  });
}

test("express on better-sqlite3: an event takes effect once under every plan", async () => {
  const { db, book, payments } = await smallShop();
  const app = express();
  app.post(PATH, expressWebhook({ source: stripe, inbox: billing, db, onError: quiet }, (event) => void book(event.eventId)));
  const report = await twice(app, paid(), { effects: payments });
  expect(report.plans.map(({ plan }) => plan)).toEqual(ALL);
});

test("behind Hapax: the idempotency key is claimed, and its headers are shown", async () => {
  const at = await shop();
  const hapax = Source.hapax({ secrets: ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"] });
  const seen: unknown[] = [];
  const handler = fetchWebhook({ source: hapax, inbox: billing, db: at.pool, onError: quiet }, async (event, client) => {
    seen.push(event.viaHapax);
    await at.book(client, event.eventId);
  });
  await twice(handler, hapax.sample(), { effects: at.payments });
  expect(seen[0]).toMatchObject({ idempotencyKey: expect.any(String) });
});

test("a status other than 2xx rolls back, and reaches the provider", async () => {
  const at = await shop();
  const handler = fetchWebhook({ source: stripe, inbox: billing, db: at.pool }, async (event, client, request) => {
    await at.book(client, event.eventId);
    return new Response("not today", { status: request.headers.has("x-no") ? 409 : 201 });
  });
  const sample = paid();
  const send = (headers: Record<string, string>) =>
    handler(new Request("http://shop.test/", { method: "POST", headers: [...sample.headers, ...Object.entries(headers)] as [string, string][], body: new Uint8Array(sample.body) }));
  for (let time = 0; time < 2; time += 1) {
    const refused = await send({ "x-no": "1" });
    expect([refused.status, await refused.text(), await at.payments()]).toEqual([409, "not today", 0]);
  }
  const statuses = [(await send({})).status, (await send({})).status];
  expect([statuses, await at.payments()]).toEqual([[201, 200], 1]);
});

test("a failure of the work is answered 500, one of the database 503, and neither tells why", async () => {
  const at = await shop();
  const onError = vi.fn();
  const failing = fetchWebhook({ source: stripe, inbox: billing, db: at.pool, onError }, async () => {
    throw new Error("the card is made of chocolate");
  });
  const { default: pg } = await import("pg");
  const nowhere = new pg.Pool({ connectionString: "postgres://postgres@127.0.0.1:1/none" });
  const down = fetchWebhook({ source: stripe, inbox: billing, db: nowhere, onError }, async () => {});
  const sample = paid();
  for (const [handler, status] of [[failing, 500], [down, 503]] as const) {
    for (let time = 0; time < 2; time += 1) {
      const response = await handler(
        new Request("http://shop.test/", { method: "POST", headers: sample.headers as [string, string][], body: new Uint8Array(sample.body) }),
      );
      expect(response.status).toBe(status);
      expect(await response.text()).not.toMatch(/chocolate|127\.0\.0\.1/);
    }
  }
  expect(onError.mock.calls.map(([error]) => error.code ?? error.message)).toEqual([
    "the card is made of chocolate",
    "the card is made of chocolate",
    "DatabaseError",
    "DatabaseError",
  ]);
});

test("createTables may run in a transaction of a migration, and twice", async () => {
  const at = await shop();
  const client = await at.pool.connect();
  try {
    await client.query("drop table hapax_inbox; begin");
    await createTables(client);
    await createTables(client);
    await client.query("commit");
    expect((await client.query("select count(*) from hapax_inbox")).rows).toEqual([{ count: "0" }]);
  } finally {
    client.release();
  }
});
