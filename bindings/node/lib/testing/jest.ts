/**
 * Jest: `import { twice } from "hapax-webhooks/jest"`, or the matcher, which this registers:
 * `await expect(app).toTakeEffectOnce(stripe.sample("invoice.paid"), { effects })`.
 */

import type { Sample } from "../sample.js";
import { type TwiceOptions, matchers } from "./index.js";

export * from "./index.js";

declare global {
  namespace jest {
    // eslint-disable-next-line @typescript-eslint/no-unused-vars
    interface Matchers<R, T = {}> {
      toTakeEffectOnce(sample: Sample, options: TwiceOptions): Promise<R>;
    }
  }
}

const { expect } = globalThis as unknown as { expect?: { extend(matchers: object): void } };
// Without `injectGlobals`, call `expect.extend(matchers)` with the `expect` of @jest/globals.
expect?.extend(matchers);
