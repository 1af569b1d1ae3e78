/** Delivers an event twice, in every way that providers do, and checks what it changed. */

import type { Crash } from "../crash_point.js";
import { SetupError } from "../errors.js";
import type { Sample } from "../sample.js";
import { type Change, describe, isSame } from "./change.js";
import { type Report, picture } from "./picture.js";
import { PLANS, type Plan, isSuccess, run } from "./plans.js";
import { type Target, targetOf } from "./target.js";
import { Trial } from "./trial.js";

export interface TwiceOptions {
  /**
   * The state that the handler writes: a number, rows, or an object of both. Counts and sums are best. Nothing else may
   * write to it during the test.
   */
  readonly effects: () => unknown;
  /** All of them, unless set. */
  readonly plans?: readonly Plan[];
  /** Another kind of event, for `out-of-order`. */
  readonly other?: Sample;
  /**
   * For the plan `crash`, if the handler does not run through `inbox.run`: makes the work fail, and returns a function that
   * lets it succeed again.
   */
  readonly crash?: () => (() => unknown) | Promise<() => unknown>;
}

/** The handler has a fault. */
export class TwiceError extends Error {
  readonly report: Report;

  constructor(report: Report) {
    super(picture(report));
    this.name = "TwiceError";
    this.report = report;
  }
}

/**
 * Delivers `sample`, and further events like it, to `app`: twice, at once, late, out of order, tampered with, and with a
 * failure in the work. Throws a `TwiceError` if the effects are not those of one delivery each.
 */
export async function twice(app: unknown, sample: Sample, options: TwiceOptions): Promise<Report> {
  const target = await targetOf(app);
  try {
    const report = await reported(target, sample, options);
    if (report.plans.some(({ fault }) => fault !== undefined)) throw new TwiceError(report);
    return report;
  } finally {
    await target.close();
  }
}

async function reported(target: Target, sample: Sample, options: TwiceOptions): Promise<Report> {
  const eventIds: string[] = [];
  const trial = (): Trial => new Trial(target, options.effects, eventIds);
  const baseline = await measured(trial, sample);
  const { other } = options;
  const otherBaseline = other === undefined ? baseline : await measured(trial, other);
  const canCrash = baseline.isReached || options.crash !== undefined;
  const plans = options.plans ?? (canCrash ? PLANS : PLANS.filter((plan) => plan !== "crash"));
  const reports: Report["plans"][number][] = [];
  for (const plan of plans) {
    const under = trial();
    const fault = await run(plan, {
      trial: under,
      sample: sample.fresh(),
      other: (other ?? sample).fresh(),
      one: baseline.change,
      otherOne: otherBaseline.change,
      crash: options.crash,
    });
    reports.push({ plan, fault, steps: under.steps, changed: describe(under.total) });
  }
  const why = "the handler does not run through `inbox.run`; pass `crash` to make its work fail";
  const isSkipped = options.plans === undefined && !canCrash;
  return { plans: reports, skipped: isSkipped ? [{ plan: "crash", why }] : [] };
}

/** What one delivery changes, from two of them with ids of their own, after one to warm up. */
async function measured(trial: () => Trial, sample: Sample): Promise<{ change: Change; isReached: boolean }> {
  const crash: Crash = { isArmed: false, wasReached: false };
  const changes: Change[] = [];
  for (const label of ["warm-up", "baseline", "baseline"]) {
    const fresh = sample.fresh();
    const step = await trial().deliver(label, fresh, fresh.eventId, crash);
    if (!isSuccess(step)) {
      throw new SetupError(
        `a genuine delivery to ${fresh.path} was answered ${step.status}, so nothing can be checked: ${step.text}` +
          (step.status === 404 ? '; pass the path of your route: source.sample(type, { path: "/webhooks/stripe" })' : ""),
      );
    }
    changes.push(step.change ?? new Map());
  }
  const [, one, two] = changes as [Change, Change, Change];
  if (one.size === 0) {
    throw new SetupError(
      "a delivery changed nothing in `effects`, so nothing can be checked; count what the handler writes, and pass a body that it " +
        "acts on: source.sample(type, { body })",
    );
  }
  if (!isSame(one, two)) {
    throw new SetupError(
      `two events of the same kind changed different things (${describe(one)}; ${describe(two)}); return counts and sums from ` +
        "`effects`, not generated ids or times",
    );
  }
  return { change: one, isReached: crash.wasReached };
}
