/** What every framework adapter does with a request: receive, run each event, answer. */

import { DatabaseError, ParsedBody, UnknownCommit, isHapaxError, messageOf } from "./errors.js";
import type { Event } from "./event.js";
import type { Inbox } from "./inbox.js";
import type { RawRequest, Reply, Source } from "./source.js";
import type { TransactionOf } from "./types.js";
import type { Word } from "./native_types.js";

/** A route for the deliveries of a source. */
export interface Route<Db extends object> {
  readonly source: Source;
  readonly inbox: Inbox;
  readonly db: Db;
  /**
   * Called with each failure: an error of the work, of the database, or of the setup. The provider learns only that it
   * should deliver again. Prints to stderr unless set.
   */
  readonly onError?: (error: unknown, event?: Event) => void;
}

/** A reply of the work's own: a `Response`, or a status. Anything but 2xx rolls the transaction back. */
export interface WorkReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** The work: applies the event in the transaction. It may return a reply; nothing means 200. */
export type Work<Db extends object, Request> = (
  event: Event,
  transaction: TransactionOf<Db>,
  request: Request,
) => void | undefined | WorkReply | Response | Promise<void | undefined | WorkReply | Response>;

/** A response for any framework. */
export type Answer = Reply | Response;

/** The work returned a status other than 2xx. Thrown inside of the run, so that it rolls back. */
class Declined extends Error {
  constructor(readonly answer: Answer) {
    super("the work declined the event");
  }
}

/** Handles a request whose body is in memory. Everything is committed before it returns. */
export async function handle<Db extends object, Request>(
  route: Route<Db>,
  work: Work<Db, Request>,
  raw: RawRequest,
  request: Request,
): Promise<Answer> {
  const { source } = route;
  const received = await source.receive(raw);
  if (received.events === undefined) return received.reply;
  const isBatch = received.events.length !== 1 || received.events[0]?.batchIndex !== undefined;
  const ended: Array<readonly [Word, string]> = [];
  // One after another, each in a transaction of its own, until the first failure.
  for (const event of received.events) {
    const outcome = await one(route, work, event, request);
    if ("answer" in outcome && (outcome.word === undefined || !isBatch)) return outcome.answer;
    ended.push([outcome.word as Word, event.eventId]);
    if (outcome.word === "in_flight") break;
  }
  return source.answer(ended);
}

async function one<Db extends object, Request>(
  { source, inbox, db, onError = printed }: Route<Db>,
  work: Work<Db, Request>,
  event: Event,
  request: Request,
): Promise<{ word: Word } | { word: Word | undefined; answer: Answer }> {
  try {
    const outcome = await inbox.run(db, event, (transaction) => {
      const returned = work(event, transaction, request);
      return isThenable(returned) ? returned.then(accepted) : accepted(returned);
    });
    const isAnswered = outcome.kind === "processed" && outcome.value !== undefined;
    return isAnswered ? { word: outcome.kind, answer: outcome.value as Answer } : { word: outcome.kind };
  } catch (error) {
    if (error instanceof Declined) return { word: undefined, answer: error.answer };
    onError(error, event);
    return { word: undefined, answer: failure(source, error) };
  }
}

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === "function";
}

/** The work's own answer, if it gave one. */
function accepted(returned: void | undefined | WorkReply | Response): Answer | undefined {
  if (typeof returned !== "object" || returned === null || typeof returned.status !== "number") return undefined;
  const answer = "arrayBuffer" in returned ? returned : reply(returned);
  if (answer.status < 200 || answer.status > 299) throw new Declined(answer);
  return answer;
}

function reply({ status, headers = {}, body = "" }: WorkReply): Reply {
  return { status, headers: Object.entries(headers), body: typeof body === "string" ? Buffer.from(body) : Buffer.from(body) };
}

/** The reply after a failure. Its cause belongs in the log. */
export function failure(source: Source, error: unknown): Reply {
  const isDatabase = isHapaxError(error) && (error.code === "DatabaseError" || error.code === "UnknownCommit");
  const isPassing = isDatabase && (error as DatabaseError | UnknownCommit).isRetryable;
  return isPassing ? source.answerUnavailable() : source.answerFailed();
}

export function printed(error: unknown, event?: Event): void {
  const what = event === undefined ? "a delivery" : `the event ${event.eventId} of ${event.source}`;
  console.error(`hapax: ${what} was not handled, and will be delivered again: ${messageOf(error)}`, error);
}

/** The error for a body that is no longer raw. */
export function parsedBody(parser: string, fix: string): ParsedBody {
  return new ParsedBody(
    `the body was already read by ${parser}, so the signature cannot be checked over the raw bytes, and a body that is ` +
      `serialized again differs from what was signed; ${fix}`,
  );
}
