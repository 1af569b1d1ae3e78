import { Source } from "hapax-webhooks";

import { shop } from "./app.js";
import { open } from "./database.js";

const { BEHIND_HAPAX, APP_SIGNING_SECRET, STRIPE_WEBHOOK_SECRET, DATABASE_URL = "shop.db", PORT = "3000" } = process.env;

// Whose signature is checked: Stripe's, or that of Hapax in front of the app.
const source = BEHIND_HAPAX
  ? Source.hapax({ secrets: [APP_SIGNING_SECRET] })
  : Source.provider("stripe", { secrets: [STRIPE_WEBHOOK_SECRET] });
const app = shop(await open(DATABASE_URL), source);
const server = app.listen(PORT, () => console.log(`listening on http://127.0.0.1:${PORT}`));
process.once("SIGTERM", () => server.close(() => process.exit()));
