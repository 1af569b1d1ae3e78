/** One plan under way: delivers, and notes what each delivery changed. */

import type { Crash } from "../crash_point.js";
import type { Sample } from "../sample.js";
import { type Change, type Snapshot, change, snapshot } from "./change.js";
import type { Sent, Target } from "./target.js";

/** A delivery, its answer, and what changed until then. `change` is undefined for deliveries at the same moment. */
export interface Step {
  readonly label: string;
  readonly eventId: string;
  readonly status: number;
  readonly text: string;
  readonly change: Change | undefined;
}

export class Trial {
  readonly steps: Step[] = [];
  #before: Snapshot | undefined;
  readonly #total: { change: Change } = { change: new Map() };
  readonly #eventIds: string[];

  constructor(
    readonly target: Target,
    readonly effects: () => unknown,
    eventIds: string[],
  ) {
    this.#eventIds = eventIds;
  }

  /** What all deliveries so far changed together. */
  get total(): Change {
    return this.#total.change;
  }

  async deliver(label: string, sample: Sample | Sent, eventId: string, crash?: Crash): Promise<Step> {
    const before = await this.#start(eventId);
    const { status, text } = await this.target.deliver(sample, crash);
    const step = { label, eventId, status, text, change: await this.#measure(before) };
    this.steps.push(step);
    return step;
  }

  /** Delivers several times at the same moment. */
  async deliverAtOnce(label: string, samples: readonly Sample[]): Promise<Change> {
    const [first] = samples;
    const before = await this.#start(first?.eventId ?? "");
    const answers = await Promise.all(samples.map((sample) => this.target.deliver(sample)));
    const changed = await this.#measure(before);
    answers.forEach(({ status, text }, index) => {
      const isLast = index === answers.length - 1;
      const eventId = samples[index]?.eventId ?? "";
      this.steps.push({ label, eventId, status, text, change: isLast ? changed : undefined });
    });
    return changed;
  }

  async #start(eventId: string): Promise<Snapshot> {
    if (!this.#eventIds.includes(eventId)) this.#eventIds.push(eventId);
    return this.#snapshot();
  }

  async #measure(before: Snapshot): Promise<Change> {
    const after = await this.#snapshot();
    this.#before ??= before;
    this.#total.change = change(this.#before, after);
    return change(before, after);
  }

  async #snapshot(): Promise<Snapshot> {
    return snapshot(await this.effects(), this.#eventIds);
  }
}
