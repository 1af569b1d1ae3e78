/** The types of the native module. */

export type * as Native from "../native.js";
export type { Delivery, Headers, KeyRequest, Keys, Options, Refusal, Reply, Word } from "../native.js";
