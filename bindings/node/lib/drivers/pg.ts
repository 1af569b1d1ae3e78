/** `pg` (node-postgres), and what has its interface. */

import { Broken, WrongTransaction } from "../errors.js";
import { prepareClaim } from "../statements.js";
import type { Answer, AnyObject, Database, End, Opening, Session } from "./driver.js";
import { firstValue } from "./driver.js";
import { failed, sqlstate, uncommittedOrBroken } from "./failure.js";

interface Result {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: readonly unknown[];
}

interface Client {
  query(text: string): Promise<Result | Result[]>;
  on(event: string, listener: (...args: any[]) => void): void;
  off(event: string, listener: (...args: any[]) => void): void;
  getTransactionStatus?(): string | null;
  connection?: { on(event: string, listener: (message: any) => void): void; off(event: string, listener: any): void };
}

const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED";

export const isPool = (db: AnyObject): boolean =>
  typeof db.connect === "function" && typeof db.query === "function" && typeof db.totalCount === "number";

export const isClient = (db: AnyObject): boolean =>
  typeof db.query === "function" && typeof db.escapeLiteral === "function" && !isPool(db);

export function session(handle: object): Session {
  return {
    dialect: "postgres",
    handle,
    batch: async (statements) => (await run(handle as Client, statements)).map(answer),
  };
}

export function database(db: object): Database {
  return {
    dialect: "postgres",
    // Without a transaction of ours, a pool is as good as a client.
    batch: (statements) => session(db).batch(statements),
    transact: (opening, body) =>
      isPool(db as AnyObject) ? onPool(db as AnyObject, opening, body) : onClient(db as Client, opening, body),
  };
}

type Body<T> = (session: Session, opened: readonly Answer[]) => Promise<End<T>>;

async function onPool<T>(pool: AnyObject, opening: Opening, body: Body<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw failed(error, "postgres");
  });
  let isSound = false;
  try {
    const value = await transact<T>(client, opening, body, () => (isSound = true));
    return value;
  } finally {
    // A connection in doubt is closed, and its transaction with it.
    client.release(isSound ? undefined : true);
  }
}

async function onClient<T>(client: Client, opening: Opening, body: Body<T>): Promise<T> {
  if (!(await isIdle(client))) {
    throw new WrongTransaction(
      "this client is inside a transaction, which `run` would commit; pass the pool or an idle client to `run`, or use " +
        "`inbox.claim(client, event)` in your own transaction",
    );
  }
  return transact(client, opening, body, () => {});
}

/**
 * Two messages around the handler's own: BEGIN with the claim, and RELEASE with COMMIT.
 *
 * That is as safe as one message each. PostgreSQL runs the statements of a message in order and stops at the first that
 * fails. So the savepoint exists only if the claim succeeded; COMMIT runs only if the release proved that the transaction
 * is the one that was begun and has not failed; and its command tag proves that it was not answered with a rollback.
 */
async function transact<T>(
  client: Client,
  opening: Opening,
  body: Body<T>,
  isSound: () => void,
): Promise<T> {
  const link = watch(client);
  try {
    const opened = await open(client, opening).catch((error: unknown) => {
      throw failed(error, "postgres");
    });
    const end = await body(session(client), opened.map(answer));
    if (!end.commit) {
      await run(client, ["ROLLBACK"]).then(isSound, () => {});
      return end.value;
    }
    if (link.isLost()) throw failed(new Error("the connection was lost before the commit"), "postgres");
    const ended = await run(client, [...end.closing, "COMMIT"]).catch((error: unknown) => {
      throw uncommittedOrBroken(error);
    });
    if (ended.at(-1)?.command !== "COMMIT") throw new Broken(new Error("COMMIT was answered with ROLLBACK"));
    isSound();
    return end.value;
  } catch (error) {
    // What matters is the first error; a lost connection has rolled back anyway.
    if (!link.isLost()) await run(client, ["ROLLBACK"]).then(isSound, () => {});
    throw error;
  } finally {
    link.end();
  }
}

/** Of each connection: whether the claim is prepared on it; false if a pooler loses it. */
const hasClaim = new WeakMap<object, boolean>();

/** Begins the transaction, and answers as to `opening.statements()`: in place of the limit, which is a part of it, BEGIN. */
async function open(client: Client, opening: Opening): Promise<Result[]> {
  if (opening.prepared !== undefined && (await isPrepared(client))) {
    try {
      return await run(client, [BEGIN, ...opening.prepared()]);
    } catch (error) {
      if (sqlstate(error) !== "26000") throw error;
      // The statement is gone. Nothing was written.
      hasClaim.set(client, false);
      await run(client, ["ROLLBACK"]);
    }
  }
  return (await run(client, [BEGIN, ...opening.statements()])).slice(1);
}

async function isPrepared(client: Client): Promise<boolean> {
  const known = hasClaim.get(client);
  if (known !== undefined) return known;
  await run(client, [prepareClaim()]).catch((error: unknown) => {
    // By another client of the same pooler.
    if (sqlstate(error) !== "42P05") throw error;
  });
  hasClaim.set(client, true);
  return true;
}

/** A connection under watch. */
export interface Link {
  isLost(): boolean;
  end(): void;
}

/**
 * Notices when the connection breaks. Also necessary because a client that is taken from its pool has no listener for
 * `error`, and an event of that name without one ends the process.
 */
export function watch(connection: object): Link {
  const client = connection as Client;
  let isLost = false;
  const lost = (): void => {
    isLost = true;
  };
  const message = ({ severity }: { severity?: string }): void => {
    isLost ||= severity === "FATAL" || severity === "PANIC";
  };
  client.on("error", lost);
  client.on("end", lost);
  client.connection?.on("errorMessage", message);
  return {
    isLost: () => isLost,
    end: () => {
      client.off("error", lost);
      client.off("end", lost);
      client.connection?.off("errorMessage", message);
    },
  };
}

/** Whether no transaction is open. Older versions of pg do not know; then time tells: inside of one, it stands still. */
async function isIdle(client: Client): Promise<boolean> {
  const status = client.getTransactionStatus?.();
  if (typeof status === "string") return status === "I";
  const [result] = await run(client, ["SELECT now() = statement_timestamp() AS idle"]).catch((error: unknown) => {
    throw failed(error, "postgres");
  });
  return firstValue(result?.rows[0]) === true;
}

async function run(client: Client, statements: readonly string[]): Promise<Result[]> {
  if (statements.length === 0) return [];
  const results = await client.query(statements.join("; "));
  return Array.isArray(results) ? results : [results];
}

function answer(result: Result): Answer {
  return { rows: result.rowCount ?? 0, value: firstValue(result.rows[0]) };
}
