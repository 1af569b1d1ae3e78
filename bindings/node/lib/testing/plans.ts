/** The plans: what is delivered, and what must hold afterwards. */

import type { Crash } from "../crash_point.js";
import type { Sample } from "../sample.js";
import { type Change, describe, isMore, isSame, sum, times } from "./change.js";
import type { Sent } from "./target.js";
import type { Step, Trial } from "./trial.js";

export type Plan = "again" | "concurrent" | "late" | "out-of-order" | "tampered" | "crash";

export const PLANS: readonly Plan[] = ["again", "concurrent", "late", "out-of-order", "tampered", "crash"];

/** What a plan needs to know. */
export interface Subject {
  readonly trial: Trial;
  readonly sample: Sample;
  readonly other: Sample;
  /** What one delivery changes: of `sample`, and of `other`. */
  readonly one: Change;
  readonly otherOne: Change;
  /** Makes the work fail until the function that it returns is called. */
  readonly crash: (() => (() => unknown) | Promise<() => unknown>) | undefined;
}

export interface Fault {
  readonly headline: string;
  readonly means: string;
  readonly todo: string;
  readonly expected: Change;
}

const AT_ONCE = 8;
const ROUNDS = 3;
const BETWEEN = 5;
const LATER_SECONDS = 60;

const CLAIM_AND_WORK =
  "insert the event's id under a unique constraint in the same transaction as its effect, as `inbox.run` does: if the id exists, " +
  "roll back and answer 2xx; if the work fails, both are rolled back";

const RUN: Record<Plan, (subject: Subject) => Promise<Fault | undefined>> = {
  again: async ({ trial, sample, one }) => {
    await first(trial, sample);
    return (await duplicate(trial, "again", sample)) ?? compare(trial, one);
  },

  concurrent: async ({ trial, sample, one }) => {
    // The first round warms up connections that the next ones share.
    for (let round = 1; round <= ROUNDS; round += 1) {
      const event = round === 1 ? sample : sample.fresh();
      await trial.deliverAtOnce("at once", Array<Sample>(AT_ONCE).fill(event));
      // Some may be refused while another one is handled, so the provider delivers again.
      const fault = (await duplicate(trial, "afterwards", event)) ?? compare(trial, times(one, round));
      if (fault !== undefined) return fault;
    }
    return undefined;
  },

  late: async ({ trial, sample, one }) => {
    await first(trial, sample);
    for (let number = 0; number < BETWEEN; number += 1) await first(trial, sample.fresh(), "another event");
    return (
      (await duplicate(trial, "late, signed again", sample.resigned(LATER_SECONDS))) ?? compare(trial, times(one, BETWEEN + 1))
    );
  },

  "out-of-order": async ({ trial, sample, other, one, otherOne }) => {
    // The provider sends the younger event first, then retries both.
    await first(trial, other, "the second event");
    await first(trial, sample, "the first event");
    const refused = (await duplicate(trial, "the second again", other)) ?? (await duplicate(trial, "the first again", sample));
    return refused ?? compare(trial, sum(one, otherOne));
  },

  tampered: async ({ trial, sample, one }) => {
    const forged = await trial.deliver("with another body", tampered(sample), sample.eventId);
    const unsigned = await trial.deliver("without a signature", bare(sample), sample.eventId);
    const accepted = [forged, unsigned].find((step) => isSuccess(step) || step.change?.size !== 0);
    if (accepted !== undefined) {
      return {
        headline: `a forged delivery (${accepted.label}) was accepted`,
        means: "Anyone who knows the URL can have an event applied.",
        todo: "verify the signature over the raw bytes of the body before anything else, and answer 401 if it does not hold",
        expected: one,
      };
    }
    await first(trial, sample, "the genuine one");
    return (await duplicate(trial, "again", sample)) ?? compare(trial, one);
  },

  crash: async ({ trial, sample, one, crash }) => {
    const injected: Crash = { isArmed: crash === undefined, wasReached: false };
    const restore = await crash?.();
    const failed = await trial.deliver("with a failure in the work", sample, sample.eventId, injected).catch(dropped);
    await restore?.();
    if (crash === undefined && !injected.wasReached) return notReached(one);
    if (failed !== undefined && isSuccess(failed) && failed.change?.size === 0) return answeredFailure(failed, one);
    await trial.deliver("delivered again", sample, sample.eventId);
    return compare(trial, one) ?? (await duplicate(trial, "again", sample));
  },
};

/** A connection that broke with the crash is no answer; the delivery is retried. */
function dropped(): undefined {
  return undefined;
}

export function run(plan: Plan, subject: Subject): Promise<Fault | undefined> {
  return RUN[plan](subject);
}

/** A delivery that must be accepted. */
async function first(trial: Trial, sample: Sample, label = "first"): Promise<void> {
  const step = await trial.deliver(label, sample, sample.eventId);
  if (!isSuccess(step)) throw new Error(`a genuine delivery was answered ${step.status}: ${step.text}`);
}

/** A duplicate, which must be answered 2xx: anything else, and the provider goes on retrying. */
async function duplicate(trial: Trial, label: string, sample: Sample): Promise<Fault | undefined> {
  const step = await trial.deliver(label, sample, sample.eventId);
  if (isSuccess(step)) return undefined;
  return {
    headline: `a duplicate was answered ${step.status}`,
    means: "The provider takes this for a failure, retries for hours, and may disable the endpoint.",
    todo: "answer 200 for an event that was applied before",
    expected: new Map(),
  };
}

function compare(trial: Trial, expected: Change): Fault | undefined {
  if (isSame(trial.total, expected)) return undefined;
  if (isMore(trial.total, expected)) {
    return {
      headline: "the event took effect more than once",
      means:
        "Two deliveries both found that the event was new: checking whether it was handled and recording that it was are not one " +
        "atomic step, or nothing is recorded at all.",
      todo: CLAIM_AND_WORK,
      expected,
    };
  }
  return {
    headline: "the event was lost, in whole or in part",
    means:
      "The event was recorded as handled before it was applied, and applying it then failed; the retry was taken for a duplicate.",
    todo: CLAIM_AND_WORK,
    expected,
  };
}

function answeredFailure({ status }: Step, expected: Change): Fault {
  return {
    headline: "a failure was answered with success",
    means: `The work failed and changed nothing, and the provider got ${status}: it does not deliver the event again.`,
    todo: "let the error through, or answer 500 or 503, so that the provider retries",
    expected,
  };
}

function notReached(expected: Change): Fault {
  return {
    headline: "no failure could be injected",
    means: "The handler does not run through `inbox.run`, or it runs in another process.",
    todo: "pass `crash`, a function that makes the work fail and returns one that lets it succeed again; or leave the plan out",
    expected,
  };
}

function tampered(sample: Sample): Sent {
  const body = Buffer.from(sample.body);
  // The last digit, if there is one: the body stays readable.
  const text = body.toString("latin1");
  const at = Math.max(text.search(/\d(?=[^\d]*$)/), 0);
  body[at] = text[at] === "7" ? 0x38 : 0x37;
  return { method: sample.method, path: sample.path, headers: sample.headers, body };
}

/** Without the headers and query that carry the proof. */
function bare(sample: Sample): Sent {
  const headers = sample.headers.filter(([name]) => /^content-type$/i.test(name));
  return { method: sample.method, path: sample.path, headers, body: sample.body };
}

const isSuccess = ({ status }: Pick<Step, "status">): boolean => status >= 200 && status < 300;

export { describe, isSuccess };
