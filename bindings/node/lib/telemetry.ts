/** The metrics hook, and a span of OpenTelemetry if `@opentelemetry/api` is installed. */

import type * as OpenTelemetry from "@opentelemetry/api";

import type { Event } from "./event.js";
import { native } from "./native.js";
import type { Outcome } from "./outcome.js";

/** One run of an event. `failed` means that nothing was written, or that the commit is unknown. */
export interface Handled {
  readonly source: string;
  readonly eventId: string;
  readonly type: string | undefined;
  readonly outcome: Outcome<unknown>["kind"] | "failed";
  readonly seconds: number;
}

type Api = typeof OpenTelemetry;

export class Telemetry {
  readonly #onHandled: ((handled: Handled) => void) | undefined;
  /** Looked for at the first run: undefined before, null if it is not installed. */
  #api: Api | null | undefined;

  constructor(onHandled: ((handled: Handled) => void) | undefined) {
    this.#onHandled = onHandled;
  }

  async observe<T>(event: Event, run: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
    const tracer = this.#tracer();
    if (tracer === undefined && this.#onHandled === undefined) return run();
    const observed = async (span?: OpenTelemetry.Span): Promise<Outcome<T>> => {
      const end = this.#begin(event, span);
      try {
        const outcome = await run();
        end(outcome.kind);
        return outcome;
      } catch (error) {
        end("failed", error);
        throw error;
      }
    };
    return tracer === undefined ? observed() : tracer.startActiveSpan("hapax.handle", observed);
  }

  observeSync<T>(event: Event, run: () => Outcome<T>): Outcome<T> {
    const observed = (span?: OpenTelemetry.Span): Outcome<T> => {
      const end = this.#begin(event, span);
      try {
        const outcome = run();
        end(outcome.kind);
        return outcome;
      } catch (error) {
        end("failed", error);
        throw error;
      }
    };
    return this.#tracer()?.startActiveSpan("hapax.handle", observed) ?? observed();
  }

  #begin(event: Event, span: OpenTelemetry.Span | undefined) {
    const started = performance.now();
    return (outcome: Handled["outcome"], error?: unknown): void => {
      if (span !== undefined) this.#end(span, event, outcome, error);
      this.#onHandled?.({
        source: event.source,
        eventId: event.eventId,
        type: event.type,
        outcome,
        seconds: (performance.now() - started) / 1000,
      });
    };
  }

  #end(span: OpenTelemetry.Span, event: Event, outcome: Handled["outcome"], error: unknown): void {
    span.setAttributes({
      "hapax.source": event.source,
      "hapax.event_id": event.eventId,
      ...(event.type === undefined ? {} : { "hapax.event_type": event.type }),
      "hapax.outcome": outcome,
    });
    if (error !== undefined) {
      span.recordException(error as Error);
      span.setStatus({ code: 2 satisfies OpenTelemetry.SpanStatusCode.ERROR });
    }
    span.end();
  }

  #tracer(): OpenTelemetry.Tracer | undefined {
    if (this.#api === undefined) this.#api = installed();
    return this.#api?.trace.getTracer("hapax-webhooks", native().version());
  }
}

function installed(): Api | null {
  try {
    return require("@opentelemetry/api") as Api;
  } catch {
    return null;
  }
}
