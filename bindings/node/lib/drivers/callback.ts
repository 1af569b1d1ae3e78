/** Transactions of drivers that begin and end them around a callback. */

import type { Dialect } from "../statements.js";
import type { Database, End, Session } from "./driver.js";
import { broken, failed, uncommitted } from "./failure.js";

/** Begins a transaction, calls back, and commits; rolls back if the callback fails. */
type Begin = (callback: (session: Session) => Promise<void>) => Promise<unknown>;

/**
 * The driver sends COMMIT and does not show its command tag. Releasing the savepoint as the last statement proves that
 * the transaction can still commit: PostgreSQL answers the COMMIT of a failed one with a rollback, and reports success.
 */
export function transactor(dialect: Dialect, begin: Begin, beforeEnd?: () => Promise<void>): Database["transact"] {
  return async <T>(...[opening, body]: Parameters<Database["transact"]>) => {
    let end: End<T> | undefined;
    let failure: { readonly error: unknown } | undefined;
    let isOver = false;
    const callback = async (session: Session): Promise<void> => {
      const opened = await session.batch(opening.statements()).catch((error: unknown) => {
        throw failed(error, dialect);
      });
      end = (await body(session, opened)) as End<T>;
      await beforeEnd?.();
      // The driver has given up on the transaction, and waits for nothing.
      if (isOver) await new Promise<never>(() => {});
      if (!end.commit) throw new Error("rolled back on purpose");
      await session.batch(end.closing).catch((error: unknown) => {
        throw broken(error, dialect);
      });
    };
    const noted = (session: Session): Promise<void> =>
      callback(session).catch((error: unknown) => {
        // Kept, because a driver may throw the error of its own ROLLBACK instead.
        failure = { error };
        throw error;
      });
    try {
      await begin(noted);
    } catch (error) {
      isOver = true;
      if (end?.commit === false) return end.value;
      if (failure !== undefined) throw failure.error;
      throw end === undefined ? failed(error, dialect) : uncommitted(error, dialect);
    }
    if (end === undefined) throw failed(new Error("the driver did not run the transaction"), dialect);
    return end.value;
  };
}
