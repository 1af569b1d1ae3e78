/** Runs one delivery of the laws, on this thread, and says how it ended. */

import { Call, Event, Inbox, isHapaxError, stage, stageSync } from "hapax-webhooks";

import { drivers } from "./drivers.mjs";

/**
 * @typedef {object} Delivery
 * @property {string} driver
 * @property {string} at
 * @property {Record<string, string>} settings
 * @property {string} add
 * @property {any[]} actions
 * @property {any} step
 */

const WAIT_MS = 30_000;

/** @param {any} given */
export function eventOf({ id, source = "stripe", body = "{}", generation = 0, replayed = false }) {
  return new Event(source, id, { ...(body === null ? {} : { body }), generation, replayed });
}

/** @param {any} given */
export function callOf({ kind, target, body = "", headers = {}, key, order_key }) {
  const options = { headers, body, ...(key === undefined ? {} : { key }), ...(order_key === undefined ? {} : { orderKey: order_key }) };
  return kind === "http" ? Call.http(target, options) : Call.destination(target, options);
}

/**
 * @param {Delivery} delivery
 * @param {() => any} hold Waits for the word to go on; throws if it is to fail. Blocks if the driver does.
 * @returns {Promise<string>}
 */
export async function deliver({ driver, at, settings, add, actions, step }, hold) {
  const waitMs = step.wait_ms ?? WAIT_MS;
  const link = await drivers[driver].connect(at, settings, waitMs);
  const inbox = new Inbox(step.consumer ?? "billing", {
    waitMs,
    ...(step.retention_seconds === undefined ? {} : { retentionSeconds: step.retention_seconds }),
  });
  /** @type {unknown} */
  let own;
  const isBlocking = typeof link.db.prepare === "function" || link.db.$client?.prepare !== undefined;
  const note = (/** @type {unknown} */ error) => {
    own = error;
    throw error;
  };
  const work = isBlocking
    ? (/** @type {any} */ tx) => {
        try {
          workSync(link, tx, add, actions, hold);
        } catch (error) {
          note(error);
        }
      }
    : (/** @type {any} */ tx) => workAsync(link, tx, add, actions, hold).catch(note);
  try {
    const outcome = isBlocking
      ? inbox.runSync(link.db, eventOf(step.deliver), work)
      : await inbox.run(link.db, eventOf(step.deliver), work);
    return outcome.kind;
  } catch (error) {
    if (error === own) return "failed";
    return wordOf(error);
  } finally {
    await Promise.resolve(link.close()).catch(() => {});
  }
}

/** @param {unknown} error */
function wordOf(error) {
  if (!isHapaxError(error)) throw error;
  switch (error.code) {
    case "Broken":
      return "broken";
    case "MissingTable":
      return "missing_table";
    case "UnknownCommit":
      if (!error.isRetryable) throw error;
      return "unknown";
    case "DatabaseError":
      return error.isRetryable ? "unavailable" : "refused";
    default:
      throw error;
  }
}

/** @param {any} link @param {any} tx @param {string} add @param {any[]} actions @param {() => any} hold */
async function workAsync(link, tx, add, actions, hold) {
  await link.execute(tx, add);
  for (const action of actions) {
    const [name, value] = only(action);
    if (name === "execute") await link.execute(tx, value);
    else if (name === "ignore") {
      try {
        await link.execute(tx, value);
      } catch {
        // Dropped, as the law says.
      }
    } else if (name === "stage") await stage(tx, callOf(value));
    else if (name === "hold") await hold();
    else if (name === "fail") throw new Error(value);
    else throw new Error(`the law has an action that is not known: ${name}`);
  }
}

/** @param {any} link @param {any} tx @param {string} add @param {any[]} actions @param {() => any} hold */
function workSync(link, tx, add, actions, hold) {
  link.execute(tx, add);
  for (const action of actions) {
    const [name, value] = only(action);
    if (name === "execute") link.execute(tx, value);
    else if (name === "ignore") {
      try {
        link.execute(tx, value);
      } catch {
        // Dropped, as the law says.
      }
    } else if (name === "stage") stageSync(tx, callOf(value));
    else if (name === "hold") hold();
    else if (name === "fail") throw new Error(value);
    else throw new Error(`the law has an action that is not known: ${name}`);
  }
}

/** @param {object} action @returns {[string, any]} */
function only(action) {
  const entries = Object.entries(action);
  if (entries.length !== 1) throw new Error(`an action has one word: ${JSON.stringify(action)}`);
  return entries[0];
}
