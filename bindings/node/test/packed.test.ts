/** The tarballs, installed in an empty folder without a registry and without install scripts. */

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

import { platformPackage, platforms } from "../dist/platform.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

test("the packed packages work with import, with require, and as a command", () => {
  const folder = mkdtempSync(join(tmpdir(), "hapax-node-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: folder, encoding: "utf8" });
  const binary = join(folder, "binary");
  writeFileSync(binary, '#!/bin/sh\necho "hapax $@"\n');
  chmodSync(binary, 0o755);
  const platform = platformPackage()?.split("/")[1] ?? "";
  const native = join(ROOT, "hapax.node");
  run(process.execPath, join(ROOT, "pack.mjs"), "--target", platform, "--native", native, "--binary", binary, "--out", "packed");
  const tarballs = readdirSync(join(folder, "packed")).map((file) => join("packed", file));
  expect(tarballs).toHaveLength(2);

  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  run("npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", ...tarballs.map((file) => `./${file}`));
  const said = 'console.log(providers().length > 50, new Event("stripe", "evt_1", { body: "{}" }).bodyHash.length)';
  expect(run(process.execPath, "--eval", `const { Event, providers } = require("hapax-webhooks"); ${said}`)).toBe("true 64\n");
  expect(run(process.execPath, "--input-type=module", "--eval", `import { Event, providers } from "hapax-webhooks"; ${said}`)).toBe("true 64\n");
  expect(run(join("node_modules", ".bin", "hapax"), "dev", "--help")).toBe("hapax dev --help\n");
  expect(run("npm", "exec", "--offline", "--", "hapax-webhooks", "dev")).toBe("hapax dev\n");

  const { optionalDependencies, scripts, version } = JSON.parse(readFileSync(join(folder, "node_modules/hapax-webhooks/package.json"), "utf8"));
  expect(optionalDependencies).toEqual(Object.fromEntries(platforms().map((name) => [`@hapax-webhooks/${name}`, version])));
  expect(scripts).toBeUndefined();
});
