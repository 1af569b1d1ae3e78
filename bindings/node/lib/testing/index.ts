/** Test helpers as plain functions, for any test runner. */

export type { Fault, Plan } from "./plans.js";
export { type PlanReport, type Report, picture } from "./picture.js";
export { TwiceError, type TwiceOptions, twice } from "./twice.js";
export { matchers } from "./matchers.js";
