/** Where the plan `crash` of the test helper fails a run: after the work, before the commit. Nothing else enables it. */

import { AsyncLocalStorage } from "node:async_hooks";

export interface Crash {
  /** Whether to fail at the point. */
  readonly isArmed: boolean;
  /** Set when a run comes by. */
  wasReached: boolean;
}

export const crashes = new AsyncLocalStorage<Crash>();

export function crashPoint(): void {
  const crash = crashes.getStore();
  if (crash === undefined) return;
  crash.wasReached = true;
  if (crash.isArmed) throw new Error("injected by `twice`: the process fails after the work, before the commit");
}
