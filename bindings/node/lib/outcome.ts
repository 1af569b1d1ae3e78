/** The results of a claim and of a run. */

/** `first`: apply the event. `again`: it was applied before. `other_body`: a different body was applied under this id. */
export type Claim = "first" | "again" | "other_body";

/**
 * The result of a run.
 *
 * - `processed`: the handler ran and its changes are committed
 * - `duplicate`: the event was applied before; the handler did not run
 * - `in_flight`: another transaction is applying the event right now, and may still roll back: answer 503
 * - `conflict`: a different body was applied under this id before; compare both before you act
 */
export type Outcome<T> =
  | { readonly kind: "processed"; readonly value: T }
  | { readonly kind: "duplicate" }
  | { readonly kind: "in_flight" }
  | { readonly kind: "conflict" };
