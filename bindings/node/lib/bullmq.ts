/**
 * BullMQ: events from a queue, each applied once.
 *
 * A queue delivers at least once: a worker that stalls loses its lock, and the job runs again. The id of a job saves work;
 * the row of the inbox gives the guarantee.
 */

import { HapaxError, Invalid } from "./errors.js";
import { Event } from "./event.js";
import type { Inbox } from "./inbox.js";
import { native } from "./native.js";
import type { Outcome } from "./outcome.js";
import type { TransactionOf } from "./types.js";

interface QueueLike {
  readonly name: string;
  add(name: string, data: any, options?: any): Promise<any>;
}

interface JobLike {
  readonly data: unknown;
}

/** Another worker is applying the event right now, and may still fail: the job must be retried. */
export class InFlight extends Error {
  constructor(event: Event) {
    super(
      `the event ${event.eventId} of ${event.source} is being applied by another worker; the job is retried if it has ` +
        "`attempts` and `backoff`, as `enqueue` sets them",
    );
    this.name = "InFlight";
  }
}

/**
 * The id of an event's job: a hash, because BullMQ allows neither whole numbers nor most colons, and provider ids have both.
 */
export function jobId(queue: string, event: Event): string {
  return `hapax-${native().idempotencyKey(event.source, event.eventId, event.generation, `bullmq:${queue}`)}`;
}

/** Adds an event to a queue. While a job of the same event is there, BullMQ ignores the second. */
export async function enqueue(queue: QueueLike, event: Event, options: object = {}): Promise<void> {
  const retries = { attempts: 10, backoff: { type: "exponential", delay: 1000 } };
  await queue.add(event.type ?? "event", event.toJSON(), { ...retries, ...options, jobId: jobId(queue.name, event) });
}

/** A processor for `new Worker(name, processor)`: applies the event of a job once, in a transaction of `db`. */
export function processor<Db extends object, Job extends JobLike, T>(
  { inbox, db }: { readonly inbox: Inbox; readonly db: Db },
  work: (event: Event, transaction: TransactionOf<Db>, job: Job) => T | Promise<T>,
): (job: Job) => Promise<Outcome<Awaited<T>>> {
  return async (job) => {
    const event = eventOf(job);
    const outcome = await inbox.run(db, event, (transaction) => work(event, transaction, job));
    if (outcome.kind === "in_flight") throw new InFlight(event);
    return outcome;
  };
}

function eventOf(job: JobLike): Event {
  try {
    return Event.fromJSON(job.data);
  } catch (error) {
    if (error instanceof HapaxError) throw new Invalid(`the data of this job is not an event: ${error.message}`);
    throw error;
  }
}
