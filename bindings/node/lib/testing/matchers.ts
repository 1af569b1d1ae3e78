/** `await expect(app).toTakeEffectOnce(sample, { effects })`, for `expect.extend` of Vitest and Jest. */

import type { Sample } from "../sample.js";
import { TwiceError, type TwiceOptions, twice } from "./twice.js";

interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

export const matchers = {
  async toTakeEffectOnce(app: unknown, sample: Sample, options: TwiceOptions): Promise<MatcherResult> {
    try {
      await twice(app, sample, options);
      return { pass: true, message: () => "no plan found a fault" };
    } catch (error) {
      if (!(error instanceof TwiceError)) throw error;
      return { pass: false, message: () => error.message };
    }
  },
};
