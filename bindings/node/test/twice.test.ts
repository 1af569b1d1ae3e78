/** The helper itself: flawed handlers fail, with a picture of which delivery changed what; right ones pass. */

import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { Source } from "hapax-webhooks";
import { webhook } from "hapax-webhooks/fetch";
import { type Plan, TwiceError, twice } from "hapax-webhooks/vitest";

import { SECRET, billing, paid, shop, smallShop, stripe } from "./support/shop.js";

const EXAMPLES = fileURLToPath(new URL("../../../examples/handlers/express", import.meta.url));

/** The faults of a run, by plan. */
async function faults(run: Promise<unknown>): Promise<Partial<Record<Plan, string>>> {
  const error = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return {};
  if (!(error instanceof TwiceError)) throw error;
  return Object.fromEntries(error.report.plans.flatMap(({ plan, fault }) => (fault === undefined ? [] : [[plan, fault.headline]])));
}

const MORE = "the event took effect more than once";
const LOST = "the event was lost, in whole or in part";

test.each([
  ["right.js", {}],
  ["check_then_act.js", { concurrent: MORE }],
  ["insert_then_work.js", { crash: LOST }],
])("examples/handlers/express/%s, in a process of its own", async (file, expected) => {
  const { url, effects, crash } = await started(file);
  const sample = stripe.sample("charge.succeeded", {
    body: JSON.stringify({ id: "evt_{{fresh}}", object: "event", type: "charge.succeeded", data: { object: { id: "ch_1", amount: 2000 } } }),
  });
  expect(await faults(twice(url, sample, { effects, crash }))).toEqual(expected);
});

/** A flawed handler of the Fetch API: it looks, asks the bank, and writes. */
const checkThenAct =
  ({ pool, book }: Awaited<ReturnType<typeof shop>>) =>
  async (request: Request): Promise<Response> => {
    const raw = new Uint8Array(await request.arrayBuffer());
    const received = await stripe.receive({ method: "POST", query: "", headers: [...request.headers], body: raw });
    if (received.events === undefined) return new Response("no", { status: received.reply.status });
    for (const { eventId } of received.events) {
      const { rows } = await pool.query("select 1 from payments where event_id = $1", [eventId]);
      await pool.query("select pg_sleep(0.02)");
      if (rows.length === 0) await book(pool, eventId);
    }
    return new Response("ok");
  };

test("a fetch handler that checks, then acts, fails with a picture", async () => {
  const at = await shop();
  const run = twice(checkThenAct(at), paid(), { effects: async () => ({ payments: await at.payments() }) });
  const error = await run.then(() => undefined, (thrown: TwiceError) => thrown);
  expect(error?.report.skipped).toEqual([{ plan: "crash", why: expect.stringContaining("pass `crash`") }]);
  expect(error?.message).toMatch(/^1 of 5 plans found a fault/);
  expect(error?.message).toContain(`concurrent: ${MORE}`);
  expect(error?.message).toMatch(/Expected in all: +payments \+[1-3]\n +Changed in all: +payments \+([2-9]|1\d)\n/);
  expect(error?.message).toMatch(/\d {2}at once +evt_\S+ +200 +payments \+[2-8]/);
  expect(error?.message).toMatch(/\d {2}afterwards +evt_\S+ +200 +\(nothing\)/);
  expect(error?.message).toContain("passed: again, late, out-of-order, tampered");
});

test("a handler without any check fails nearly every plan", async () => {
  const at = await shop();
  const handler = async (request: Request) => {
    const raw = new Uint8Array(await request.arrayBuffer());
    await at.book(at.pool, JSON.parse(Buffer.from(raw).toString()).id);
    return new Response("ok");
  };
  expect(await faults(twice(handler, paid(), { effects: at.payments }))).toEqual({
    again: MORE,
    concurrent: MORE,
    late: MORE,
    "out-of-order": MORE,
    tampered: "a forged delivery (with another body) was accepted",
  });
});

test("a handler that answers a failure with 200 loses the event", async () => {
  const at = await shop();
  const inner = webhook({ source: stripe, inbox: billing, db: at.pool, onError: () => {} }, async (event, client) => {
    await at.book(client, event.eventId);
  });
  const polite = async (request: Request) => {
    const response = await inner(request);
    return response.status === 500 ? new Response("never mind") : response;
  };
  // The delivery after it still finds no claim, so nothing is lost in the database: but the provider never makes it.
  const report = await twice(polite, paid(), { effects: at.payments }).catch((error: TwiceError) => error.report);
  const crash = report.plans.find(({ plan }) => plan === "crash");
  expect(crash?.fault?.headline).toBe("a failure was answered with success");
});

test("a duplicate that is refused is a fault", async () => {
  const at = await shop();
  const seen = new Set<string>();
  const handler = async (request: Request) => {
    const raw = new Uint8Array(await request.arrayBuffer());
    const received = await stripe.receive({ method: "POST", query: "", headers: [...request.headers], body: raw });
    if (received.events === undefined) return new Response("no", { status: 401 });
    for (const { eventId } of received.events) {
      if (seen.has(eventId)) return new Response("conflict", { status: 409 });
      seen.add(eventId);
      await at.book(at.pool, eventId);
    }
    return new Response("ok");
  };
  expect(await faults(twice(handler, paid(), { effects: at.payments, plans: ["again"] }))).toEqual({
    again: "a duplicate was answered 409",
  });
});

test("the matcher of Vitest says the same", async () => {
  const at = await shop();
  await expect(checkThenAct(at)).not.toTakeEffectOnce(paid(), { effects: at.payments });
  const { db, payments, book } = await smallShop();
  const right = webhook({ source: stripe, inbox: billing, db, onError: () => {} }, (event) => void book(event.eventId));
  await expect(right).toTakeEffectOnce(paid(), { effects: payments });
});

test("rows, sums and several tables can be effects", async () => {
  const at = await shop();
  await at.pool.query("create table account (balance integer); insert into account values (0)");
  const handler = webhook({ source: stripe, inbox: billing, db: at.pool, onError: () => {} }, async (event, client) => {
    await at.book(client, event.eventId);
    await client.query("update account set balance = balance + 20");
  });
  const rows = async (sql: string) => (await at.pool.query(sql)).rows;
  await twice(handler, paid(), { effects: () => rows("select event_id from payments") });
  await twice(handler, paid(), { effects: () => rows("select count(*), (select balance from account) from payments") });
  await twice(handler, paid(), {
    effects: async () => ({ balance: (await rows("select balance from account"))[0].balance, payments: await rows("select * from payments") }),
  });
});

test("what cannot be checked is an error, not a pass", async () => {
  const at = await shop();
  const idle = webhook({ source: stripe, inbox: billing, db: at.pool }, () => {});
  await expect(twice(idle, paid(), { effects: at.payments })).rejects.toThrow("changed nothing");
  const wrong = Source.provider("stripe", { secrets: ["whsec_other"] });
  await expect(twice(idle, wrong.sample("invoice.paid"), { effects: at.payments })).rejects.toThrow("answered 401");
  await expect(twice(7, paid(), { effects: at.payments })).rejects.toThrow("pass an Express app");
  const random = webhook({ source: stripe, inbox: billing, db: at.pool }, async (event, client) => void (await at.book(client, event.eventId)));
  await expect(twice(random, paid(), { effects: () => ({ at: Math.random() }) })).rejects.toThrow("counts and sums");
  const plain = async () => new Response("ok");
  const count = { now: 0 };
  const effects = () => (count.now += 1);
  expect(await faults(twice(plain, paid(), { effects, plans: ["crash"] }))).toEqual({ crash: "no failure could be injected" });
});

test("samples: another event, the same one signed again, and a body of one's own", () => {
  const own = (body: string) => stripe.sample("invoice.paid", { body });
  const given = (id: string) => JSON.stringify({ id, object: "event", type: "invoice.paid" });
  for (const sample of [paid(), own(given("evt_{{fresh}}")), own(given("evt_1"))]) {
    const again = sample.resigned(60);
    expect([again.eventId, again.body.equals(sample.body)]).toEqual([sample.eventId, true]);
    expect(again.headers).not.toEqual(sample.headers);
    const ids = new Set([sample.eventId, sample.fresh().eventId, sample.fresh().fresh().eventId, sample.fresh().resigned().eventId]);
    expect(ids.size).toBe(4);
  }
});

/** Starts one of the examples on a free port, with a database of its own. */
async function started(file: string) {
  const folder = mkdtempSync(fileURLToPath(new URL("../node_modules/.twice-", import.meta.url)));
  cpSync(EXAMPLES, folder, { recursive: true });
  const port = await freePort();
  const database = join(folder, "shop.db");
  const env = { ...process.env, PORT: String(port), DATABASE: database, STRIPE_WEBHOOK_SECRET: SECRET, BANK_TAKES_MS: "20" };
  const server: ChildProcess = spawn(process.execPath, [file], { cwd: folder, env, stdio: ["ignore", "ignore", "ignore"] });
  const exited = new Promise((resolve) => server.once("exit", resolve));
  await answering(port, server);
  const db = new Database(database);
  onTestFinished(async () => {
    server.kill();
    await exited;
    db.close();
    rmSync(folder, { recursive: true });
  });
  const effects = () => db.prepare("select count(*) as payments, sum(amount) as amount from payments").all();
  const crash = () => {
    writeFileSync(`${database}.closed`, "");
    return () => rmSync(`${database}.closed`);
  };
  return { url: `http://127.0.0.1:${port}/webhooks`, effects, crash };
}

/** Resolves once something listens on the port. */
async function answering(port: number, server: ChildProcess): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error("the example did not start");
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      }).on("error", () => resolve(false));
    });
    if (isOpen) return;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
