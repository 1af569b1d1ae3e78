/** What a delivery changed: the difference of two snapshots of the effects. */

/** How much of each thing there is. */
export type Snapshot = ReadonlyMap<string, number>;
/** By how much each thing differs; what does not differ is left out. */
export type Change = ReadonlyMap<string, number>;

/**
 * A snapshot of what `effects` returned: a number; rows, which are counted; or an object of numbers and rows. The ids of the
 * events in it are replaced, so that two events can be compared.
 */
export function snapshot(effects: unknown, eventIds: readonly string[]): Snapshot {
  const counts = new Map<string, number>();
  const add = (name: string, count: number): void => void counts.set(name, (counts.get(name) ?? 0) + count);
  const text = (value: unknown): string => {
    const json = JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)) ?? "undefined";
    return eventIds.reduce((masked, id) => masked.split(id).join("<event>"), json);
  };
  const visit = (name: string, value: unknown): void => {
    const number = numberOf(value);
    if (number !== undefined) add(name === "" ? "count" : name, number);
    else if (Array.isArray(value)) visitRows(name, value);
    else if (typeof value === "object" && value !== null && name === "") {
      for (const [key, inner] of Object.entries(value)) visit(key, inner);
    } else add(`${name === "" ? "" : `${name} `}${text(value)}`, 1);
  };
  const visitRows = (name: string, rows: readonly unknown[]): void => {
    const [only] = rows;
    if (name === "" && rows.length === 1 && isAggregate(only)) visit("", only);
    else for (const row of rows) add(`${name === "" ? "" : `${name} `}${text(row)}`, 1);
  };
  visit("", effects);
  return counts;
}

/** The one row of a query for counts and sums. */
function isAggregate(row: unknown): boolean {
  const values = typeof row === "object" && row !== null ? Object.values(row) : [];
  return values.length > 0 && values.every((value) => value === null || numberOf(value) !== undefined);
}

/** Databases return large counts and sums as text. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
}

export function change(before: Snapshot, after: Snapshot): Change {
  const changed = new Map<string, number>();
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const by = (after.get(name) ?? 0) - (before.get(name) ?? 0);
    if (by !== 0) changed.set(name, by);
  }
  return changed;
}

export function times(of: Change, factor: number): Change {
  return new Map([...of].map(([name, by]) => [name, by * factor]));
}

export function sum(one: Change, other: Change): Change {
  const both = new Map(one);
  for (const [name, by] of other) both.set(name, (both.get(name) ?? 0) + by);
  return new Map([...both].filter(([, by]) => by !== 0));
}

export function isSame(one: Change, other: Change): boolean {
  return one.size === other.size && [...one].every(([name, by]) => close(other.get(name), by));
}

/** Sums of amounts may be floating-point numbers. */
function close(one: number | undefined, other: number): boolean {
  return one !== undefined && Math.abs(one - other) < 1e-6;
}

/** Whether anything changed by more than it should have. */
export function isMore(actual: Change, expected: Change): boolean {
  return [...actual].some(([name, by]) => Math.abs(by) > Math.abs(expected.get(name) ?? 0) + 1e-6);
}

export function describe(of: Change): string {
  const signed = (by: number): string => (by > 0 ? `+${round(by)}` : `−${round(-by)}`);
  return of.size === 0 ? "(nothing)" : [...of].map(([name, by]) => `${name} ${signed(by)}`).join(", ");
}

function round(by: number): number {
  return Math.round(by * 1e6) / 1e6;
}
