// Duplicates in every way that they arrive, and forged requests: each event is booked once.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Source } from "hapax-webhooks";
import { twice } from "hapax-webhooks/vitest";
import { test } from "vitest";

import { shop } from "./app.js";
import { open } from "./database.js";

test("a payment is booked once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "shop-"));
  const db = await open(join(folder, "shop.db"));
  const source = Source.provider("stripe", { secrets: ["whsec_test"] });
  const paid = source.sample("payment_intent.succeeded", { path: "/webhooks/stripe" });
  const effects = () => db("payments").count("* as payments").sum("amount as total").first();
  await twice(shop(db, source), paid, { effects });
  await db.destroy();
  await rm(folder, { recursive: true });
});
