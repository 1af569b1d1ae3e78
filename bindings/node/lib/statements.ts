/**
 * The statements of the Rust drivers, with their values written in as literals.
 *
 * Literals rather than parameters, for three reasons: several statements can go to PostgreSQL in one message, the text
 * works behind a pooler that loses prepared statements, and all drivers are served by one way to run a text. It is safe
 * because no character of a value reaches the text unless it is a letter, a digit or one of `_.-`; everything else is
 * written in hexadecimal, which no encoding, setting or placeholder syntax of a driver can read as anything else.
 */

import { native } from "./native.js";

export type Dialect = "postgres" | "sqlite";
export type Value = string | number | null | Uint8Array | Hex;

/** Bytes that are already in hexadecimal. */
export class Hex {
  constructor(readonly digits: string) {}
}

const PLAIN = /^[A-Za-z0-9_.-]*$/;
const HEX = /^[0-9a-f]*$/;

/** Text and the number of the value that follows it, alternately. */
type Template = readonly string[];

interface Templates {
  readonly claim: Template;
  readonly lookUp: Template;
  readonly extend: Template;
  readonly purge: Template;
  readonly stage: Template;
  readonly create: string;
}

const templates: Partial<Record<Dialect, Templates>> = {};

function templatesOf(dialect: Dialect): Templates {
  return (templates[dialect] ??= parsed(dialect));
}

function parsed(dialect: Dialect): Templates {
  const sql = native().sql(dialect);
  const template = (text: string): Template => text.replace(/\s+/g, " ").trim().split(/[$?]([1-9])/);
  // As text, so that no type parser of a driver has a say; a missing hash is NULL on PostgreSQL and '' on SQLite.
  const asText = dialect === "postgres" ? "encode(body_hash, 'hex')" : "lower(hex(body_hash))";
  return {
    claim: template(sql.claim),
    lookUp: template(`SELECT ${asText} AS hash FROM (${sql.lookUp}) AS stored`),
    extend: template(sql.extend),
    purge: template(sql.purge),
    stage: template(sql.stage),
    create: `${sql.createInbox}\n${sql.createOutbox}`,
  };
}

/** One of the statements, with its values. */
export function statement(
  dialect: Dialect,
  name: Exclude<keyof Templates, "create">,
  values: readonly Value[],
): string {
  let text = "";
  templatesOf(dialect)[name].forEach((part, index) => {
    text += index % 2 === 0 ? part : literal(dialect, values[Number(part) - 1] as Value);
  });
  return text;
}

/** The claim with a limited wait, as a statement that PostgreSQL prepares once on a connection. */
export function prepareClaim(): string {
  return (preparedClaim ??= named()).prepare;
}

/** The prepared claim, with its values: those of `claim`, and the limit. */
export function executeClaim(values: readonly Value[]): string {
  const { name } = (preparedClaim ??= named());
  return `EXECUTE ${name}(${values.map((value) => literal("postgres", value)).join(",")})`;
}

let preparedClaim: { readonly name: string; readonly prepare: string } | undefined;

/** Named after its text: another version of this package may share the connection through a pooler. */
function named(): { readonly name: string; readonly prepare: string } {
  const text = native().sql("postgres").claimWithin ?? "";
  const name = `hapax_claim_${native().bodyHash(Buffer.from(text)).toString("hex").slice(0, 12)}`;
  return { name, prepare: `PREPARE ${name} (text, text, text, integer, bytea, float8, text) AS ${text}` };
}

/** The statements that create both tables, unless they exist. */
export function tablesSql(dialect: Dialect): string {
  return templatesOf(dialect).create;
}

/** The same, one by one, for drivers that take one statement at a time. */
export function tableStatements(dialect: Dialect): string[] {
  return tablesSql(dialect)
    .replace(/--.*$/gm, "")
    .split(";")
    .map((text) => text.trim())
    .filter((text) => text !== "");
}

function literal(dialect: Dialect, value: Value): string {
  if (value === null) return "NULL";
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number`);
    return String(value);
  }
  if (typeof value === "string") {
    if (PLAIN.test(value)) return `'${value}'`;
    const bytes = Buffer.from(value, "utf8").toString("hex");
    return dialect === "postgres" ? `convert_from(decode('${bytes}', 'hex'), 'UTF8')` : `CAST(x'${bytes}' AS TEXT)`;
  }
  const digits = value instanceof Hex ? value.digits : Buffer.from(value).toString("hex");
  if (!HEX.test(digits)) throw new RangeError("the hash is not in hexadecimal");
  return dialect === "postgres" ? `decode('${digits}', 'hex')` : `x'${digits}'`;
}
