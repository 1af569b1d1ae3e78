/** The metrics hook, and a span per handled event. */

import { trace } from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { expect, test } from "vitest";
import { Event, type Handled, Inbox } from "hapax-webhooks";

import { shop, smallShop } from "./support/shop.js";

test("each run is observed: its outcome, its time, and a span around its work", async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  const handled: Handled[] = [];
  const inbox = new Inbox("billing", { onHandled: (one) => handled.push(one) });
  const at = await shop();
  const small = await smallShop();
  const event = new Event("stripe", "evt_1", { type: "invoice.paid", body: "{}" });
  const inside: unknown[] = [];
  const work = () => void inside.push(trace.getActiveSpan()?.spanContext().spanId);

  for (let time = 0; time < 2; time += 1) {
    await inbox.run(at.pool, new Event("stripe", "evt_2"), () => Promise.reject(new Error("told to fail"))).catch(() => {});
    await inbox.run(at.pool, event, work);
    inbox.runSync(small.db, event, work);
  }

  const outcomes = ["failed", "processed", "processed", "failed", "duplicate", "duplicate"];
  expect(handled.map(({ outcome }) => outcome)).toEqual(outcomes);
  expect(handled[1]).toMatchObject({ source: "stripe", eventId: "evt_1", type: "invoice.paid", seconds: expect.any(Number) });
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name)).toEqual(outcomes.map(() => "hapax.handle"));
  expect(spans.map(({ attributes }) => attributes["hapax.outcome"])).toEqual(outcomes);
  expect(spans[1]?.attributes).toEqual({
    "hapax.source": "stripe",
    "hapax.event_id": "evt_1",
    "hapax.event_type": "invoice.paid",
    "hapax.outcome": "processed",
  });
  expect(inside).toEqual([spans[1]?.spanContext().spanId, spans[2]?.spanContext().spanId]);
  expect(spans[0]?.status.code).toBe(2);
  await provider.shutdown();
});
