// A shop that is paid by Stripe: every payment is booked exactly once.
import express from "express";
import { Inbox } from "hapax-webhooks";
import { webhook } from "hapax-webhooks/express";

export function shop(db, source) {
  const app = express();
  // Before any express.json(): the signature is over the raw body.
  app.post("/webhooks/stripe", webhook({ source, inbox: new Inbox("shop"), db }, paid));
  app.get("/payments", async (_request, response) => {
    response.json(await db("payments").select("event_id", "amount"));
  });
  return app;
}

/** Runs in the transaction that also records the event: both commit, or neither does. If it throws, Stripe retries. */
async function paid(event, trx) {
  if (event.type !== "payment_intent.succeeded") return;
  const { amount } = event.json().data.object;
  await trx("payments").insert({ event_id: event.eventId, amount });
}
