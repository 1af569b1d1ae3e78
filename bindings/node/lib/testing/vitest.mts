/**
 * Vitest: `import { twice } from "hapax-webhooks/vitest"`, or the matcher, which this registers:
 * `await expect(app).toTakeEffectOnce(stripe.sample("invoice.paid"), { effects })`.
 */

import { expect } from "vitest";

import type { Sample } from "../sample.js";
import { type TwiceOptions, matchers } from "./index.js";

export * from "./index.js";

declare module "vitest" {
  interface Matchers<T = any> {
    toTakeEffectOnce(sample: Sample, options: TwiceOptions): Promise<T>;
  }
}

expect.extend(matchers);
