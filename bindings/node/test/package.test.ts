/** The package as others meet it: both module systems, the loader's words, and the launcher. */

import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

import { load } from "../dist/native.js";
import { platformPackage, platforms } from "../dist/platform.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LAUNCHER = join(ROOT, "bin", "hapax.js");
const ENTRIES = ["", "/express", "/fastify", "/next", "/hono", "/fetch", "/bullmq", "/testing", "/jest"];

test("every entry point loads with import and with require, as one and the same", () => {
  const script = `
    import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    for (const entry of ${JSON.stringify(ENTRIES)}) {
      const imported = await import("hapax-webhooks" + entry);
      const required = require("hapax-webhooks" + entry);
      for (const name of Object.keys(required)) if (imported[name] !== required[name]) throw new Error(entry + " " + name);
      console.log(Object.keys(required).length > 0);
    }`;
  const said = execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: ROOT, encoding: "utf8" });
  expect(said.trim().split("\n")).toEqual(ENTRIES.map(() => "true"));
});

test("importing the package does nothing: no native module, no driver, no framework", () => {
  const script = `require("hapax-webhooks"); console.log(JSON.stringify(Object.keys(require.cache)))`;
  const said = execFileSync(process.execPath, ["--eval", script], { cwd: ROOT, encoding: "utf8" });
  expect(JSON.parse(said).filter((path: string) => !path.includes(join(ROOT, "dist")))).toEqual([]);
});

test("the loader says what really happened", () => {
  const failing = (error: unknown) => () => {
    throw error;
  };
  const absent = Object.assign(new Error("Cannot find module '@hapax-webhooks/linux-x64-gnu/hapax.node'"), { code: "MODULE_NOT_FOUND" });
  const attempt = (error: unknown) => () => load(["@hapax-webhooks/linux-x64-gnu/hapax.node"], failing(error));
  expect(attempt(absent)).toThrow(/is not installed.*--omit=optional/s);
  const wrongLibc = Object.assign(new Error("version `GLIBC_2.39' not found"), { code: "ERR_DLOPEN_FAILED" });
  expect(attempt(wrongLibc)).toThrow(/GLIBC_2\.39/);
  expect(attempt(wrongLibc)).not.toThrow(/omit=optional/);
});

test("each platform that is released has its package, and musl is not glibc", () => {
  expect(platformPackage("linux", "x64", () => false)).toBe("@hapax-webhooks/linux-x64-gnu");
  expect(platformPackage("linux", "arm64", () => true)).toBe(undefined);
  expect(platformPackage("darwin", "arm64")).toBe("@hapax-webhooks/darwin-arm64");
  expect(platformPackage("win32", "x64")).toBe(undefined);
  expect(platformPackage("sunos", "x64")).toBeUndefined();
  expect(platforms()).toHaveLength(3);
});

/** Runs the launcher with a script in place of the binary. */
function launch(script: string, args: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "hapax-node-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const binary = join(folder, "hapax");
  writeFileSync(binary, `#!/bin/sh\n${script}\n`);
  chmodSync(binary, 0o755);
  const child = spawn(process.execPath, [LAUNCHER, ...args], { env: { ...process.env, HAPAX_BINARY: binary } });
  let said = "";
  const spoken = new Promise<void>((resolve) =>
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      resolve();
    }),
  );
  const ended = new Promise<{ code: number | null; signal: string | null; said: string }>((resolve) =>
    child.on("close", (code, signal) => resolve({ code, signal, said })),
  );
  return { child, spoken, ended };
}

test("the launcher passes on arguments and exit codes", async () => {
  expect(await launch('echo "$@"; exit 5', ["config", "check", "a b"]).ended).toEqual({ code: 5, signal: null, said: "config check a b\n" });
  expect(await launch("exit 0").ended).toMatchObject({ code: 0 });
});

test("the launcher passes on signals, and ends as the binary did", async () => {
  const trapping = launch("trap 'echo stopped; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
  await trapping.spoken;
  trapping.child.kill("SIGTERM");
  expect(await trapping.ended).toEqual({ code: 3, signal: null, said: "ready\nstopped\n" });
  const dying = launch("echo ready; while :; do sleep 0.01; done");
  await dying.spoken;
  dying.child.kill("SIGTERM");
  expect(await dying.ended).toEqual({ code: null, signal: "SIGTERM", said: "ready\n" });
});

test("the launcher says which package is missing", async () => {
  const { HAPAX_BINARY: _, ...env } = process.env;
  const child = spawn(process.execPath, [LAUNCHER, "--version"], { env });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect([code, said]).toEqual([1, expect.stringMatching(/@hapax-webhooks\/.* is not installed .*HAPAX_BINARY/)]);
});
