/** BullMQ on a real Redis: a job that runs twice has one effect. */

import { Queue, QueueEvents, Worker } from "bullmq";
import { expect, inject, test } from "vitest";
import { Event, Inbox } from "hapax-webhooks";
import { enqueue, jobId, processor } from "hapax-webhooks/bullmq";

import { shop } from "./support/shop.js";

const inbox = new Inbox("billing");

test("an event in two jobs, and a job that fails first, have one effect each", async () => {
  const at = await shop();
  const connection = { host: "127.0.0.1", port: inject("redisPort"), maxRetriesPerRequest: null };
  const queue = new Queue("events", { connection });
  const events = new QueueEvents("events", { connection });
  await events.waitUntilReady();
  let failures = 1;
  const work = processor({ inbox, db: at.pool }, async (event, client) => {
    await at.book(client, event.eventId);
    if (event.eventId === "evt_2" && failures-- > 0) throw new Error("told to fail");
  });
  const worker = new Worker("events", work, { connection, concurrency: 4 });
  const first = new Event("stripe", "evt_1", { type: "invoice.paid", body: "{}" });
  const second = new Event("stripe", "evt_2", { body: "{}" });
  const quick = { backoff: { type: "fixed", delay: 1 } };

  const done = new Promise<void>((resolve) => {
    let completed = 0;
    worker.on("completed", () => {
      completed += 1;
      if (completed === 4) resolve();
    });
  });
  await enqueue(queue, first, quick);
  await enqueue(queue, first, quick);
  await queue.add("the same event under another id", first.toJSON());
  await enqueue(queue, second, quick);
  await queue.add("the same event under another id", second.toJSON(), { attempts: 10, ...quick });
  await done;

  expect(await at.payments()).toBe(2);
  const kept = await queue.getJob(jobId("events", first));
  expect(kept?.data).toEqual(first.toJSON());
  await worker.close();
  await events.close();
  await queue.close();
});

test("ids that BullMQ refuses become hashes, the same for the same event", () => {
  const id = (eventId: string) => jobId("events", new Event("stripe", eventId));
  expect(id("42")).toMatch(/^hapax-[0-9a-f]{32}$/);
  expect([id("a:b"), id("a:b") === id("a:b"), id("a:b") === id("a:c")]).toEqual([expect.not.stringContaining(":"), true, false]);
});

test("data that is no event is refused with the fix", async () => {
  const at = await shop();
  const work = processor({ inbox, db: at.pool }, () => {});
  for (let time = 0; time < 2; time += 1) {
    await expect(work({ data: { id: "evt_1" } })).rejects.toMatchObject({ code: "Invalid", message: expect.stringContaining("enqueue") });
  }
});
