// A shop that is paid by Stripe: every payment is booked exactly once.
import { type Event, Inbox, Source } from "hapax-webhooks";
import { type RouteHandlers, webhook } from "hapax-webhooks/next";
import type { Knex } from "knex";

import { database } from "../../../lib/database";

export const runtime = "nodejs";

let handlers: RouteHandlers | undefined;

/** With the first request: a build has neither secrets nor a database. */
export function POST(request: Request): Promise<Response> {
  handlers ??= webhook({ source: source(), inbox: new Inbox("shop"), db: database() }, paid);
  return handlers.POST(request);
}

/** Whose signature is checked: Stripe's, or that of Hapax in front of the app. */
function source(): Source {
  const { BEHIND_HAPAX, APP_SIGNING_SECRET = "", STRIPE_WEBHOOK_SECRET = "" } = process.env;
  return BEHIND_HAPAX
    ? Source.hapax({ secrets: [APP_SIGNING_SECRET] })
    : Source.provider("stripe", { secrets: [STRIPE_WEBHOOK_SECRET] });
}

/** Runs in the transaction that also records the event: both commit, or neither does. If it throws, Stripe retries. */
async function paid(event: Event, trx: Knex.Transaction): Promise<void> {
  if (event.type !== "payment_intent.succeeded") return;
  const { amount } = event.json().data.object;
  await trx("payments").insert({ event_id: event.eventId, amount });
}
