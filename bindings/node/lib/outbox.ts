/** The outbox: calls to other systems, written in the transaction of the effect. Hapax makes them after the commit. */

import type { Call } from "./call.js";
import { WrongTransaction } from "./errors.js";
import { calling } from "./native.js";
import { type Origin, originOf } from "./origin.js";
import { type Dialect, statement } from "./statements.js";
import { PROBE } from "./drivers/driver.js";
import { failed } from "./drivers/failure.js";
import { recognizeTransaction } from "./drivers/recognize.js";

/**
 * Stages a call in an open transaction: in the work of a run, or in one of your own. Inside of a run, its key follows from
 * the event and the number of the call, so a run after a rollback stages the same keys; elsewhere it is random.
 */
export async function stage(transaction: object, call: Call): Promise<void> {
  const origin = originOf(transaction);
  const found = recognizeTransaction(transaction);
  if ("sync" in found) return stageSync(transaction, call);
  const { session } = found;
  const sql = insertion(session.dialect, call, origin);
  const needsProbe = origin === undefined && session.dialect === "postgres";
  try {
    await session.batch(needsProbe ? [...PROBE, sql] : [sql]);
  } catch (error) {
    throw failed(error, session.dialect);
  }
}

/** `stage` on better-sqlite3, node:sqlite, or Drizzle around them. */
export function stageSync(transaction: object, call: Call): void {
  const found = recognizeTransaction(transaction);
  if (!("sync" in found)) {
    throw new WrongTransaction("`stageSync` is for better-sqlite3 and node:sqlite; use `await stage(tx, call)`");
  }
  const sql = insertion("sqlite", call, originOf(transaction));
  try {
    found.sync.batch([sql]);
  } catch (error) {
    throw failed(error, "sqlite");
  }
}

function insertion(dialect: Dialect, call: Call, origin: Origin | undefined): string {
  const { headers = {}, body = "", key = null, orderKey = null } = call.options;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  // A call with a key of its own counts, too, so that the keys of those after it stay the same.
  const numbered = origin?.nextKey() ?? null;
  const stored = calling((module) => module.checkCall(call.kind, call.target, headers, bytes, key, orderKey));
  return statement(dialect, "stage", [
    origin?.consumer ?? null,
    origin?.source ?? null,
    origin?.eventId ?? null,
    call.kind,
    call.target,
    stored,
    bytes,
    key ?? numbered,
    orderKey,
  ]);
}
