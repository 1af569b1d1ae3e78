/**
 * Loads the native module, which verifies, identifies, signs and answers: the same code as the gateway.
 *
 * It is loaded on first use, from the package of this platform. If that fails, the error has the loader's own words: the
 * usual guess ("a bug of npm with optional dependencies") hides a wrong libc or a copied `node_modules`.
 */

import { join } from "node:path";

import type * as Native from "../native.js";
import { SetupError, fromNative } from "./errors.js";
import { platformPackage, platforms } from "./platform.js";

export type { Native };

let loaded: typeof Native | undefined;

/** The native module. */
export function native(): typeof Native {
  loaded ??= load(candidates(), require);
  return loaded;
}

let known: Native.Limits | undefined;

/** The limits, which do not change. */
export function limits(): Native.Limits {
  return (known ??= native().limits());
}

/** Calls the native module, and turns its errors into those of this package. */
export function calling<T>(call: (module: typeof Native) => T): T {
  const module = native();
  try {
    return call(module);
  } catch (error) {
    throw fromNative(error);
  }
}

/** Where the module may be: beside this package in a checkout, or in the package of this platform. */
function candidates(): string[] {
  const name = platformPackage();
  return [join(__dirname, "..", "hapax.node"), ...(name === undefined ? [] : [`${name}/hapax.node`])];
}

/** The first candidate that loads. */
export function load(paths: readonly string[], requiring: (path: string) => unknown): typeof Native {
  const failures: string[] = [];
  for (const path of paths) {
    try {
      return requiring(path) as typeof Native;
    } catch (error) {
      failures.push(`  ${path}: ${reason(error, path)}`);
    }
  }
  throw new SetupError(
    `the native module of hapax-webhooks could not be loaded on ${process.platform}-${process.arch}` +
      `${platformPackage() === undefined ? `; it exists for ${platforms().join(", ")}` : ""}:\n${failures.join("\n")}`,
  );
}

function reason(error: unknown, path: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const isAbsent = code === "MODULE_NOT_FOUND" && message.includes(path);
  if (!isAbsent) return message;
  return path.startsWith("@")
    ? "the package is not installed. Install on this platform, without --omit=optional; if the lockfile was written on " +
        "another one and lacks it, delete node_modules and package-lock.json, and install again"
    : "not here, as is usual outside a checkout";
}
