/** Starts a PostgreSQL and a Redis for the run, each in a folder of its own on a free port, and stops them afterwards. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    postgres: string;
    redisPort: number;
  }
}

const POSTGRES = [18, 17, 16, 15, 14].map((version) => `/usr/lib/postgresql/${version}/bin`).find(existsSync);

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "hapax-node-"));
  const postgres = await startPostgres(folder);
  const redis = await startRedis(folder);
  project.provide("postgres", postgres.url);
  project.provide("redisPort", redis.port);
  return async () => {
    await Promise.all([stopped(postgres.server, "SIGINT"), stopped(redis.server, "SIGTERM")]);
    rmSync(folder, { recursive: true, force: true });
  };
}

async function startPostgres(parent: string) {
  if (POSTGRES === undefined) throw new Error("PostgreSQL is not installed: apt-get install postgresql");
  const folder = mkdtempSync(join(parent, "postgres-"));
  const port = await freePort();
  // PostgreSQL refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? { uid: idOf("-u"), gid: idOf("-g") } : {};
  if (isRoot) for (const path of [parent, folder]) chownSync(path, idOf("-u"), idOf("-g"));
  const data = join(folder, "data");
  const env = { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" };
  execFileSync(join(POSTGRES, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"], { ...identity, env });
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`, "max_connections=200", "fsync=off"];
  const options = ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const server = spawn(join(POSTGRES, "postgres"), options, { ...identity, env, stdio: ["ignore", "ignore", "pipe"] });
  await said(server, "database system is ready to accept connections");
  return { server, url: `postgres://postgres@127.0.0.1:${port}/postgres` };
}

async function startRedis(parent: string) {
  const port = await freePort();
  const folder = mkdtempSync(join(parent, "redis-"));
  const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--maxmemory-policy", "noeviction"];
  const server = spawn("redis-server", options, { stdio: ["ignore", "pipe", "ignore"] });
  await said(server, "Ready to accept connections");
  return { server, port };
}

function idOf(which: "-u" | "-g"): number {
  return Number(execFileSync("id", [which, "postgres"], { encoding: "utf8" }));
}

/** Waits for a line, then lets the rest of the output go. */
function said(server: ChildProcess, line: string): Promise<void> {
  const stream = server.stderr ?? server.stdout;
  return new Promise((resolve, reject) => {
    let text = "";
    stream?.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-10_000);
      if (text.includes(line)) resolve();
    });
    server.on("error", reject);
    server.on("exit", () => reject(new Error(`a server of the tests did not start: ${text}`)));
  });
}

function stopped(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    server.once("exit", () => resolve());
    server.kill(signal);
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
