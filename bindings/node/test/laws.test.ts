/** The laws of the inbox that every language runs, for every driver. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Call, Event, Inbox, createTables, idempotencyKey, purge, stage } from "hapax-webhooks";

import { native } from "../dist/native.js";
import { callOf, eventOf } from "./support/deliver.mjs";
import { drivers } from "./support/drivers.mjs";
import { type Place, newPlace } from "./support/place.js";
import { type Started, start } from "./support/started.js";

const law = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../crates/hapax/laws/${name}.json`, import.meta.url), "utf8"));
const outcomes = law("outcomes");

for (const [name, driver] of Object.entries(drivers)) {
  for (const scenario of outcomes.scenarios) {
    const isForUs = (scenario.dialects ?? ["postgres", "sqlite"]).includes(driver.dialect);
    if (!isForUs) continue;
    test(`${name}: ${scenario.name}`, async () => {
      await withSubject(name, async (subject) => {
        for (const step of scenario.steps) await subject.take(step);
        await subject.end(scenario.end);
      });
    });
  }

  test(`${name}: create_tables creates the tables, also the second time`, async () => {
    await withSubject(name, async (subject) => {
      for (let time = 0; time < 2; time += 1) {
        for (const { sql, rows } of law("tables")[driver.dialect].queries) expect(await subject.texts(sql)).toEqual(rows);
        await createTables(subject.link.db);
      }
    });
  });
}

test("keys have the same bytes as in every language", () => {
  const { idempotency_keys, call_keys, body_hashes, ...rest } = law("keys");
  expect(Object.keys(rest)).toEqual([]);
  for (const { scope, event_id, generation, destination, key } of idempotency_keys) {
    expect(idempotencyKey(scope, event_id, generation, destination)).toBe(key);
  }
  for (const { scope, event_id, generation, consumer, number, key } of call_keys) {
    expect(native().callKey(scope, event_id, generation, consumer, number)).toBe(key);
  }
  for (const { body_hex, hash } of body_hashes) {
    expect(new Event("stripe", "evt_1", { body: Buffer.from(body_hex, "hex") }).bodyHash).toBe(hash);
  }
});

test("names that cannot tell events apart are refused", () => {
  const { names, problems, cases } = law("names");
  const make: Record<string, (text: string) => unknown> = {
    source: (text) => new Event(text, "evt_1"),
    "event id": (text) => new Event("stripe", text),
    consumer: (text) => new Inbox(text),
  };
  for (const name of names) {
    for (const { text, times, problem } of cases) {
      const making = () => make[name]?.(text.repeat(times));
      if (problem === null) expect(making).not.toThrow();
      else expect(making).toThrow(expect.objectContaining({ code: "Invalid", message: expect.stringContaining(problems[problem]) }));
    }
  }
});

test("calls that cannot be made are refused where they are staged", async () => {
  const { problems, cases } = law("calls");
  await withSubject("better-sqlite3", async ({ link }) => {
    for (const { kind, target, headers = 0, body = 0, key, order_key, problem } of cases) {
      const repeated = (pair: [string, number] | undefined) => pair && pair[0].repeat(pair[1]);
      const call = callOf({
        kind,
        target: repeated(target),
        headers: Object.fromEntries(Array.from({ length: headers }, (_, index) => [`x-${index}`, "v"])),
        body: Buffer.alloc(body),
        ...(key === undefined ? {} : { key: repeated(key) }),
        ...(order_key === undefined ? {} : { order_key: repeated(order_key) }),
      });
      expect(call).toBeInstanceOf(Call);
      link.db.exec("begin immediate");
      const staging = stage(link.db, call);
      if (problem === null) await staging;
      else await expect(staging).rejects.toMatchObject({ code: "InvalidCall", message: expect.stringContaining(problems[problem]) });
      link.db.exec("rollback");
    }
  });
});

/** A driver with an account, in a database of its own. */
class Subject {
  readonly #started = new Map<string, Started>();

  constructor(
    readonly name: string,
    readonly place: Place,
    readonly link: Awaited<ReturnType<(typeof drivers)[string]["connect"]>>,
  ) {}

  async take(step: any): Promise<void> {
    const { dialect } = this.place;
    const here = <T>(value: T | Record<string, T>): T | undefined =>
      typeof value === "object" && value !== null ? (value as Record<string, T>)[dialect] : (value as T);
    if (step.deliver !== undefined) await this.#deliver(step);
    else if (step.release !== undefined) await this.#tell(step.release, "release", step.expect);
    else if (step.fail !== undefined) await this.#tell(step.fail, "fail", step.expect);
    else if (step.join !== undefined) expect(await this.#started.get(step.join)?.result).toBe(step.expect);
    else if (step.claim !== undefined) await this.#inTransaction(step, (tx) => new Inbox("billing").claim(tx, eventOf(step.claim)));
    else if (step.stage !== undefined) await this.#inTransaction(step, (tx) => stage(tx, callOf(step.stage)));
    else if (step.purge !== undefined) expect(await purge(this.link.db, step.purge)).toBe(step.expect);
    else if (step.create_tables !== undefined) await createTables(this.link.db);
    else if (step.execute !== undefined) await this.#outside(here<string>(step.execute));
    else if (step.query !== undefined) await this.#number(here<string>(step.query), (number) => expect(number).toBe(step.is));
    else if (step.until !== undefined) await this.#until(here<string>(step.until), step.is);
    else throw new Error(`the law has a step that is not known: ${JSON.stringify(step)}`);
  }

  async end({ balance, inbox, outbox = [], ...rest }: any): Promise<void> {
    expect(rest).toEqual({});
    expect(await this.number("select balance from account")).toBe(balance);
    expect(await this.number("select count(*) from hapax_inbox")).toBe(inbox);
    const keys = await this.texts("select idempotency_key from hapax_outbox order by id");
    expect(keys).toEqual(outbox.map((key: string | null) => key ?? expect.any(String)));
  }

  async number(sql: string): Promise<number> {
    return Number((await this.texts(sql))[0]);
  }

  /** The first column of the rows of a query. */
  async texts(sql: string): Promise<unknown[]> {
    return observe(this.place, sql);
  }

  async #deliver(step: any): Promise<void> {
    const begin = (): Started =>
      start(
        {
          driver: this.name,
          at: this.place.at,
          settings: outcomes.settings[this.place.dialect] ?? {},
          add: outcomes.add,
          actions: known(outcomes.handlers, step.handler ?? "add"),
          step,
        },
        this.place.dialect,
      );
    if (step.as !== undefined) {
      const started = begin();
      this.#started.set(step.as, started);
      if (step.handler === "hold") await started.holding;
    } else if (step.at_once !== undefined) {
      const words = await Promise.all(Array.from({ length: step.at_once }, () => begin().result));
      expect(Object.fromEntries(Object.keys(step.expect).map((word) => [word, words.filter((given) => given === word).length]))).toEqual(step.expect);
    } else {
      expect(await begin().result).toBe(step.expect);
    }
  }

  async #tell(name: string, word: "release" | "fail", expected: string): Promise<void> {
    const started = this.#started.get(name);
    started?.tell(word);
    expect(await started?.result).toBe(expected);
  }

  async #inTransaction(step: any, work: (tx: any) => Promise<unknown>): Promise<void> {
    const rollBack = new Error("rolled back on purpose");
    let claim: unknown;
    const body = async (tx: any) => {
      claim = await work(tx);
      if (step.then === "roll_back") throw rollBack;
    };
    const isBlocking = typeof this.link.db.prepare === "function" || this.link.db.$client?.prepare !== undefined;
    if (isBlocking) claim = await this.#inSyncTransaction(step, work);
    else {
      await Promise.resolve(this.link.transaction(body)).catch((error: unknown) => {
        if (error !== rollBack) throw error;
      });
    }
    expect(claim).toBe(step.expect);
  }

  async #inSyncTransaction(step: any, work: (tx: any) => Promise<unknown>): Promise<unknown> {
    const connection = this.link.db.$client ?? this.link.db;
    connection.exec("begin immediate");
    const claim = await work(this.link.db);
    connection.exec(step.then === "commit" ? "commit" : "rollback");
    return claim;
  }

  async #outside(sql: string | undefined): Promise<void> {
    if (sql !== undefined) await observe(this.place, sql);
  }

  async #number(sql: string | undefined, check: (number: number) => void): Promise<void> {
    if (sql !== undefined) check(await this.number(sql));
  }

  async #until(sql: string | undefined, is: number): Promise<void> {
    while (sql !== undefined && (await this.number(sql)) !== is);
  }
}

function known<T>(of: Record<string, T>, name: string): T {
  const found = of[name];
  if (found === undefined) throw new Error(`the law has a handler that is not known: ${name}`);
  return found;
}

async function withSubject(name: string, check: (subject: Subject) => Promise<void>): Promise<void> {
  const driver = drivers[name];
  if (driver === undefined) throw new Error(`no such driver: ${name}`);
  const place = await newPlace(driver.dialect);
  const link = await driver.connect(place.at, {}, 30_000);
  try {
    await createTables(link.db);
    for (const sql of outcomes.account) await observe(place, sql);
    await check(new Subject(name, place, link));
  } finally {
    await link.close();
    await place.remove();
  }
}

/** Runs a statement on a connection of its own, with the plainest driver. */
async function observe(place: Place, sql: string): Promise<unknown[]> {
  if (place.dialect === "postgres") {
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: place.at });
    await client.connect();
    try {
      return (await client.query({ text: sql, rowMode: "array" })).rows.map((row: unknown[]) => row[0]);
    } finally {
      await client.end();
    }
  }
  const { default: Database } = await import("better-sqlite3");
  const db = new Database(place.at, { timeout: 30_000 });
  try {
    const statement = db.prepare(sql);
    if (statement.reader) return statement.raw().all().map((row) => (row as unknown[])[0]);
    statement.run();
    return [];
  } finally {
    db.close();
  }
}
