/** Bad input: each error is typed, and names the fix. */

import Database from "better-sqlite3";
import { drizzle as drizzleOnSqlite } from "drizzle-orm/better-sqlite3";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Call, Event, Inbox, Source, createTables, createTablesSync, isRetryable, purge, stage } from "hapax-webhooks";

import { drivers } from "./support/drivers.mjs";
import { type Place, newPlace } from "./support/place.js";

const inbox = new Inbox("billing");
const event = (id = "evt_1") => new Event("stripe", id, { body: "{}" });
const failing = (code: string, fix: string | RegExp) =>
  expect.objectContaining({ code, message: typeof fix === "string" ? expect.stringContaining(fix) : expect.stringMatching(fix) });

describe("sources", () => {
  test("a secret in the wrong format is refused", () => {
    const make = () => Source.provider("standard-webhooks", { secrets: ["not base64 at all!"] });
    expect(make).toThrow(expect.objectContaining({ code: "SetupError" }));
    expect(make).not.toThrow(/not base64 at all!/);
  });

  test("an unset environment variable is not a secret", () => {
    for (const secrets of [[undefined], [""], undefined, "whsec_test"]) {
      const make = () => Source.provider("stripe", { secrets } as never);
      expect(make).toThrow(failing("SetupError", "is an environment variable unset?"));
    }
  });

  test("an unknown provider is refused", () => {
    expect(() => Source.provider("strype", { secrets: ["x"] })).toThrow(failing("SetupError", "strype"));
  });
});

describe("names and numbers", () => {
  test("a lone surrogate would be stored as the bytes of another", () => {
    expect(() => new Event("stripe", "evt_\ud800")).toThrow(failing("Invalid", "well-formed"));
  });

  test("retention and wait are whole numbers, and 0 is one of them", () => {
    expect(new Inbox("billing", { retentionSeconds: 0, waitMs: 0 })).toMatchObject({ retentionSeconds: 0, waitMs: 0 });
    for (const bad of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new Inbox("billing", { retentionSeconds: bad })).toThrow(failing("Invalid", "whole number"));
      expect(() => new Inbox("billing", { waitMs: bad })).toThrow(failing("Invalid", "whole number"));
      expect(() => new Event("stripe", "evt_1", { generation: bad })).toThrow(failing("Invalid", "whole number"));
    }
  });

  test("an event cannot be changed after it was verified", () => {
    const given = event();
    expect(() => Object.assign(given, { eventId: "evt_2" })).toThrow(TypeError);
    expect(Event.fromJSON(JSON.parse(JSON.stringify(given)))).toEqual(given);
    expect(() => Event.fromJSON({ id: "evt_1" })).toThrow(failing("Invalid", "event.toJSON()"));
  });
});

describe("objects that are no transaction", () => {
  const strangers = [undefined, null, 7, "postgres://", {}, [], new Map(), () => {}, { query() {} }];

  test("strangers are refused by claim, run, stage, purge and createTables", async () => {
    for (const stranger of strangers as object[]) {
      for (const attempt of [
        () => inbox.claim(stranger, event()),
        () => inbox.run(stranger, event(), () => {}),
        () => stage(stranger, Call.http("https://example.com")),
        () => purge(stranger),
        () => createTables(stranger),
      ]) {
        await expect(attempt()).rejects.toThrow(failing("WrongTransaction", "pass a pool or client of pg"));
      }
    }
  });

  test("work on a blocking driver must not be asynchronous", async () => {
    const db = new Database(":memory:");
    createTablesSync(db);
    db.exec("create table payments (id)");
    for (let time = 0; time < 2; time += 1) {
      const run = inbox.run(db, event(), async () => {
        db.exec("insert into payments values (1)");
      });
      await expect(run).rejects.toThrow(failing("WrongTransaction", "plain function"));
    }
    expect(db.prepare("select (select count(*) from payments) + (select count(*) from hapax_inbox)").pluck().get()).toBe(0);
    db.close();
  });

  test("the synchronous entry points refuse asynchronous drivers", () => {
    const pool = new pg.Pool();
    expect(() => inbox.runSync(pool, event(), () => {})).toThrow(failing("WrongTransaction", "await inbox.run"));
  });
});

for (const [name, driver] of Object.entries(drivers)) {
  describe(name, () => {
    let place: Place;
    let link: Awaited<ReturnType<typeof driver.connect>>;
    const isBlocking = () => typeof link.db.prepare === "function" || link.db.$client?.prepare !== undefined;

    beforeAll(async () => {
      place = await newPlace(driver.dialect);
      link = await driver.connect(place.at, {}, 1000);
    });
    afterAll(async () => {
      await link.close();
      await place.remove();
    });

    test("a missing table is named, and how to create it", async () => {
      for (let time = 0; time < 2; time += 1) {
        await expect(inbox.run(link.db, event(), () => {})).rejects.toThrow(failing("MissingTable", /hapax_inbox.*createTables/s));
        await expect(purge(link.db)).rejects.toThrow(failing("MissingTable", "createTables"));
      }
      await createTables(link.db);
    });

    test("a database, or a connection outside of a transaction, is refused, and nothing is claimed", async () => {
      await createTables(link.db);
      for (let time = 0; time < 2; time += 1) {
        await expect(inbox.claim(link.db, event("evt_auto"))).rejects.toThrow(failing("WrongTransaction", "inbox.run"));
        await expect(stage(link.db, Call.http("https://example.com"))).rejects.toThrow(failing("WrongTransaction", /transaction/));
      }
      const outcome = await inbox.run(link.db, event("evt_auto"), () => {});
      expect(outcome.kind).toBe("processed");
    });

    test("a closed transaction is refused, and nothing is claimed", async () => {
      await createTables(link.db);
      let closed: any;
      if (isBlocking()) {
        link.transaction((tx: unknown) => {
          closed = tx;
        });
      } else {
        await link.transaction(async (tx: unknown) => {
          closed = tx;
        });
      }
      for (let time = 0; time < 2; time += 1) {
        await expect(inbox.claim(closed, event("evt_closed"))).rejects.toThrow(
          failing("WrongTransaction", /BEGIN|inside the callback/),
        );
      }
      expect((await inbox.run(link.db, event("evt_closed"), () => {})).kind).toBe("processed");
      expect((await inbox.run(link.db, event("evt_closed"), () => {})).kind).toBe("duplicate");
    });

    test("run refuses a transaction that is open, which it would commit", async () => {
      await createTables(link.db);
      const attempt = (tx: any) => inbox.run(tx, event("evt_open"), () => {});
      if (isBlocking()) {
        const connection = link.db.$client ?? link.db;
        connection.exec("begin");
        await expect(attempt(link.db)).rejects.toThrow(failing("WrongTransaction", "claim"));
        connection.exec("rollback");
      } else {
        await link.transaction(async (tx: unknown) => {
          await expect(attempt(tx)).rejects.toThrow(failing("WrongTransaction", "claim"));
        });
      }
    });
  });
}

test("Drizzle's `db` on SQLite is its connection", async () => {
  const client = new Database(":memory:");
  const db = drizzleOnSqlite({ client });
  createTablesSync(db);
  expect([inbox.runSync(db, event(), () => 7), inbox.runSync(db, event(), () => 7)]).toEqual([
    { kind: "processed", value: 7 },
    { kind: "duplicate" },
  ]);
  client.close();
});

test("errors of the operating system are not SQLSTATEs, and mistakes in programs are not lost connections", async () => {
  const { troubleOf } = await import("../dist/drivers/failure.js");
  const error = (properties: object) => Object.assign(new Error("x"), properties);
  expect(troubleOf(error({ code: "EPIPE" }), "postgres")).toBe("unavailable");
  expect(troubleOf(error({ code: "55P03", severity: "ERROR" }), "postgres")).toBe("busy");
  expect(troubleOf(new Error("wrapped", { cause: error({ code: "40001", severity: "ERROR" }) }), "postgres")).toBe("victim");
  expect(troubleOf(new TypeError("x"), "postgres")).toBe("refused");
  expect(troubleOf(error({ code: "SQLITE_BUSY_SNAPSHOT" }), "sqlite")).toBe("busy");
  expect(troubleOf(error({ errcode: 5 }), "sqlite")).toBe("busy");
  expect(isRetryable(new Error("wrapped", { cause: error({ code: "40P01", severity: "ERROR" }) }))).toBe(true);
  expect(isRetryable(error({ code: "23505", severity: "ERROR" }))).toBe(false);
});
