// Duplicates in every way that they arrive, and forged requests: each event is booked once.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Source } from "hapax-webhooks";
import { twice } from "hapax-webhooks/vitest";
import { test } from "vitest";

import { POST } from "./app/webhooks/stripe/route";
import { createSchema, database } from "./lib/database";

test("a payment is booked once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "shop-"));
  process.env.DATABASE_URL = join(folder, "shop.db");
  process.env.STRIPE_WEBHOOK_SECRET = "whsec_test";
  await createSchema();
  const paid = Source.provider("stripe", { secrets: ["whsec_test"] }).sample("payment_intent.succeeded");
  const effects = () => database()("payments").count("* as payments").sum("amount as total").first();
  await twice(POST, paid, { effects });
  await database().destroy();
  await rm(folder, { recursive: true });
});
