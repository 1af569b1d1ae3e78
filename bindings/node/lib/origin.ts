/** Which event a transaction is handling, so that calls staged in it are numbered from the event. */

import type { Event } from "./event.js";
import { native } from "./native.js";

export interface Origin {
  readonly source: string;
  readonly eventId: string;
  readonly consumer: string;
  /** The key of the next call: a run after a rollback stages its calls with the same keys. */
  nextKey(): string;
}

/** By the transaction that a handler was given; an entry lives as long as the handler runs. */
const origins = new WeakMap<object, Origin>();

export function originOf(transaction: object): Origin | undefined {
  return origins.get(transaction);
}

export async function handling<T>(
  transaction: object,
  consumer: string,
  event: Event,
  work: () => T | Promise<T>,
): Promise<T> {
  origins.set(transaction, origin(consumer, event));
  try {
    return await work();
  } finally {
    origins.delete(transaction);
  }
}

export function handlingSync<T>(transaction: object, consumer: string, event: Event, work: () => T): T {
  origins.set(transaction, origin(consumer, event));
  try {
    return work();
  } finally {
    origins.delete(transaction);
  }
}

function origin(consumer: string, { source, eventId, generation }: Event): Origin {
  let number = 0;
  return {
    source,
    eventId,
    consumer,
    nextKey: () => native().callKey(source, eventId, generation, consumer, number++),
  };
}
