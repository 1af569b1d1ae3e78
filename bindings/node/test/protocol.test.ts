/** The messages between `pg` and the server: few, and none of them less safe for that. */

import pg from "pg";
import { expect, test } from "vitest";
import { Event, Inbox } from "hapax-webhooks";

import { shop } from "./support/shop.js";

const inbox = new Inbox("billing", { waitMs: 10_000 });
const event = (id: string, body = "{}") => new Event("stripe", id, { body });

/** A pool that notes what its clients send. */
function listening(at: string): { pool: pg.Pool; sent: string[] } {
  const sent: string[] = [];
  class Noting extends pg.Client {
    override query(...args: any[]): any {
      const [query] = args;
      sent.push(typeof query === "string" ? query : query.text);
      return (super.query as any)(...args);
    }
  }
  return { pool: new pg.Pool({ connectionString: at, Client: Noting as any, max: 1 }), sent };
}

test("a run sends two messages around the handler's own, a duplicate three in all", async () => {
  const at = await shop();
  const { pool, sent } = listening(at.at);
  const run = (id = "evt_1") => inbox.run(pool, event(id), async (client) => void (await at.book(client, id)));
  expect((await run("evt_0")).kind).toBe("processed");
  // Once for each connection.
  expect(sent.shift()).toMatch(/^PREPARE hapax_claim_[0-9a-f]{12} /);
  sent.length = 0;
  expect((await run()).kind).toBe("processed");
  const [opening, work, closing] = sent;
  expect([sent.length, work]).toEqual([3, "insert into payments values ($1)"]);
  expect(opening).toMatch(/^BEGIN ISOLATION LEVEL READ COMMITTED; EXECUTE hapax_claim_[0-9a-f]{12}\(.*\); SAVEPOINT hapax_handler$/s);
  expect(closing).toBe("RELEASE SAVEPOINT hapax_handler; COMMIT");
  sent.length = 0;
  expect((await run()).kind).toBe("duplicate");
  expect([sent.length, sent.at(-1)]).toEqual([3, "COMMIT"]);
  await pool.end();
});

test("a pooler that loses the prepared claim, or has it already, costs a message and no event", async () => {
  const at = await shop();
  const { pool, sent } = listening(at.at);
  const run = (id: string) => inbox.run(pool, event(id), async (client) => void (await at.book(client, id)));
  expect((await run("evt_1")).kind).toBe("processed");
  const prepare = sent[0] as string;
  await pool.query("deallocate all");
  const kinds = [];
  for (const id of ["evt_2", "evt_2", "evt_3", "evt_1"]) kinds.push((await run(id)).kind);
  expect([kinds, await at.payments()]).toEqual([["processed", "duplicate", "processed", "duplicate"], 3]);
  expect(sent.filter((text) => text.includes("EXECUTE"))).toHaveLength(2);
  await pool.end();
  const other = listening(at.at);
  await other.pool.query(prepare);
  for (const kind of ["processed", "duplicate"]) {
    expect((await inbox.run(other.pool, event("evt_4"), () => {})).kind).toBe(kind);
  }
  await other.pool.end();
});

test("the wait is limited to the claim, and the session's own limit holds for the work", async () => {
  const at = await shop();
  const pool = new pg.Pool({ connectionString: at.at, options: "-c lock_timeout=7654ms", max: 1 });
  const seen: string[] = [];
  const look = async (client: pg.PoolClient) => void seen.push((await client.query("show lock_timeout")).rows[0].lock_timeout);
  for (const id of ["evt_1", "evt_2", "evt_1"]) await inbox.run(pool, event(id), look);
  await look(await pool.connect().then((client) => (client.release(), client)));
  expect(seen).toEqual(["7654ms", "7654ms", "7654ms"]);
  await pool.end();
});

test("no value can leave its literal, whatever it contains", async () => {
  const at = await shop();
  const ids = ["'; drop table payments; --", "\\'; --", "$1", "?", "`", "\u0001", "é", "\u{1f600}", "a'b\"c", "\\x41", ":x", "%s", "{}"];
  for (const kind of ["processed", "duplicate"]) {
    for (const id of ids) {
      expect((await inbox.run(at.pool, event(id), async (client) => void (await at.book(client, id)))).kind).toBe(kind);
    }
  }
  const stored = (await at.pool.query("select event_id from hapax_inbox")).rows.map((row) => row.event_id);
  expect(new Set(stored)).toEqual(new Set(ids));
  expect(await at.payments()).toBe(ids.length);
});

test("settings of the server that change how strings are read do no harm", async () => {
  const at = await shop();
  const options = "-c standard_conforming_strings=off -c backslash_quote=on -c client_encoding=SJIS";
  const pool = new pg.Pool({ connectionString: at.at, options, max: 1 });
  const id = "evt_\\'é";
  for (const kind of ["processed", "duplicate"]) expect((await inbox.run(pool, event(id), () => {})).kind).toBe(kind);
  await pool.end();
  expect((await at.pool.query("select event_id from hapax_inbox")).rows).toEqual([{ event_id: id }]);
});

test("a COMMIT that the server answers with ROLLBACK is no success", async () => {
  const at = await shop();
  // The savepoint catches this first; a client that lies about it does not get past the command tag.
  class Lying extends pg.Client {
    override query(...args: any[]): any {
      if (args[0] === "RELEASE SAVEPOINT hapax_handler; COMMIT") return super.query("COMMIT");
      return (super.query as any)(...args);
    }
  }
  const pool = new pg.Pool({ connectionString: at.at, Client: Lying as any, max: 1 });
  for (let time = 0; time < 2; time += 1) {
    const run = inbox.run(pool, event("evt_1"), async (client) => {
      await client.query("select 1 / 0").catch(() => {});
    });
    await expect(run).rejects.toMatchObject({ code: "Broken" });
  }
  await pool.end();
  expect((await inbox.run(at.pool, event("evt_1"), () => {})).kind).toBe("processed");
});

test("a run leaves a sound connection in its pool, and closes one in doubt", async () => {
  const at = await shop();
  const pool = new pg.Pool({ connectionString: at.at, max: 1 });
  const pid = async () => (await pool.query("select pg_backend_pid() as pid")).rows[0].pid as number;
  const before = await pid();
  await inbox.run(pool, event("evt_1"), () => {});
  await inbox.run(pool, event("evt_1"), () => {});
  await inbox.run(pool, event("evt_1", "other"), () => {});
  await inbox.run(pool, event("evt_2"), () => Promise.reject(new Error("told to fail"))).catch(() => {});
  expect(await pid()).toBe(before);
  await inbox.run(pool, event("evt_2"), async (client) => void (await client.query("select pg_terminate_backend(pg_backend_pid())").catch(() => {}))).catch(() => {});
  expect(await pid()).not.toBe(before);
  await pool.end();
});

test("an older client without a transaction status is asked for the time", async () => {
  const at = await shop();
  const client = new pg.Client({ connectionString: at.at });
  Object.assign(client, { getTransactionStatus: undefined });
  await client.connect();
  for (const kind of ["processed", "duplicate"]) expect((await inbox.run(client, event("evt_1"), () => {})).kind).toBe(kind);
  await client.query("begin");
  await expect(inbox.run(client, event("evt_2"), () => {})).rejects.toMatchObject({ code: "WrongTransaction" });
  await client.end();
});

test("a binding is claimed with the event, and another body under it is a conflict", async () => {
  const at = await shop();
  const bound = (id: string, hash: string) =>
    Event.fromJSON({ ...event(id).toJSON(), binding: { eventId: "transmission-1", bodyHash: hash.repeat(64) } });
  const kinds = [];
  for (const given of [bound("evt_1", "a"), bound("evt_1", "a"), bound("evt_2", "b"), bound("evt_2", "b"), bound("evt_2", "a")]) {
    kinds.push((await inbox.run(at.pool, given, async (client) => void (await at.book(client, given.eventId)))).kind);
  }
  expect([kinds, await at.payments()]).toEqual([["processed", "duplicate", "conflict", "conflict", "processed"], 2]);
});
