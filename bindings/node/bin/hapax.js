#!/usr/bin/env node
// Runs the binary of this platform's package in place of this process: same streams, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { join, dirname } = require("node:path");

const { platformPackage, platforms } = require("../dist/platform.js");

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];

function fail(message) {
  console.error(`hapax: ${message}`);
  process.exit(1);
}

/** The binary: that of HAPAX_BINARY, or of the package of this platform. */
function binary() {
  if (process.env.HAPAX_BINARY) return process.env.HAPAX_BINARY;
  const name = platformPackage();
  if (name === undefined) {
    fail(
      `there is no binary for ${process.platform}-${process.arch}, only for ${platforms().join(", ")}; build it from source ` +
        "with cargo, and set HAPAX_BINARY to its path",
    );
  }
  try {
    const file = process.platform === "win32" ? "hapax.exe" : "hapax";
    return join(dirname(require.resolve(`${name}/package.json`)), file);
  } catch (error) {
    return fail(
      `the package ${name} is not installed (${error.code}); install on this platform, without --omit=optional, or set ` +
        "HAPAX_BINARY to the path of a binary",
    );
  }
}

const path = binary();
let child;
// Before the binary starts: a signal in between would end this process alone.
for (const signal of SIGNALS) {
  // A terminal sends Ctrl-C to both; the binary would take a second one for that of an impatient user.
  const isShared = signal === "SIGINT" && process.stdin.isTTY;
  try {
    process.on(signal, () => {
      if (!isShared) child.kill(signal);
    });
  } catch {
    // Not a signal of this platform.
  }
}
child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`${path} could not be started: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const name of SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // Only if the signal does not end this process: the status that shells give it.
  setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 1000);
});
