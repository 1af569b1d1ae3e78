/** The picture of a fault: which delivery changed what. */

import { describe } from "./change.js";
import type { Fault, Plan } from "./plans.js";
import type { Step } from "./trial.js";

export interface PlanReport {
  readonly plan: Plan;
  readonly fault: Fault | undefined;
  readonly steps: readonly Step[];
  readonly changed: string;
}

export interface Report {
  readonly plans: readonly PlanReport[];
  /** Plans that could not be run, and why. */
  readonly skipped: ReadonlyArray<{ readonly plan: Plan; readonly why: string }>;
}

export function picture({ plans, skipped }: Report): string {
  const faults = plans.filter(({ fault }) => fault !== undefined);
  const passed = plans.filter(({ fault }) => fault === undefined).map(({ plan }) => plan);
  return [
    `${faults.length} of ${plans.length} plans found a fault`,
    ...faults.map(one),
    ...(passed.length === 0 ? [] : [`passed: ${passed.join(", ")}`]),
    ...skipped.map(({ plan, why }) => `not run: ${plan} (${why})`),
  ].join("\n\n");
}

function one({ plan, fault, steps, changed }: PlanReport): string {
  if (fault === undefined) return `${plan}: passed`;
  return [
    `${plan}: ${fault.headline}`,
    ...table(steps),
    ...(fault.expected.size === 0 ? [] : [`  Expected in all:   ${describe(fault.expected)}`]),
    `  Changed in all:    ${changed}`,
    `  It means: ${fault.means}`,
    `  To do: ${fault.todo}.`,
  ].join("\n");
}

function table(steps: readonly Step[]): string[] {
  const rows = [
    ["delivery", "event", "answer", "changed"],
    ...steps.map((step, index) => [
      `${index + 1}  ${step.label}`,
      step.eventId,
      String(step.status),
      step.change === undefined ? "  ┐" : describe(step.change),
    ]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()}`);
}
