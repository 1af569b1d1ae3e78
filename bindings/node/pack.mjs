// Packs two tarballs: the package of one platform, with the native module and the binary, and the root package.
//
//   node pack.mjs --target linux-x64-gnu --native libhapax_node.so --binary hapax --out DIR
//
// Publish the packages of all platforms first and the root last: a root whose platforms do not exist cannot be installed.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = fileURLToPath(new URL(".", import.meta.url));
const LICENSES = ["LICENSE-MIT", "LICENSE-APACHE"].map((name) => join(ROOT, "..", "..", name));
const { platforms } = createRequire(import.meta.url)("./dist/platform.js");

const { values } = parseArgs({
  options: { target: { type: "string" }, native: { type: "string" }, binary: { type: "string" }, out: { type: "string" } },
});
for (const name of ["target", "native", "binary", "out"]) {
  if (values[name] === undefined) throw new Error(`--${name} is missing; see the first lines of pack.mjs`);
}
const { target, native, binary, out } = values;
if (!platforms().includes(target)) throw new Error(`--target ${target} is not one of ${platforms().join(", ")}`);

const { devDependencies: _, scripts: __, ...root } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const { version, license, repository, engines } = root;
const folder = mkdtempSync(join(tmpdir(), "hapax-pack-"));
mkdirSync(out, { recursive: true });
try {
  pack("platform", platformPackage(), (to) => {
    cpSync(native, join(to, "hapax.node"));
    const file = join(to, target.startsWith("win32") ? "hapax.exe" : "hapax");
    cpSync(binary, file);
    chmodSync(file, 0o755);
    writeFileSync(join(to, "README.md"), `The native module and the binary of [hapax-webhooks](https://www.npmjs.com/package/hapax-webhooks) for ${target}.\n`);
  });
  const optionalDependencies = Object.fromEntries(platforms().map((name) => [`@hapax-webhooks/${name}`, version]));
  pack("root", { ...root, optionalDependencies }, (to) => {
    for (const path of [...root.files, "README.md"]) cpSync(join(ROOT, path), join(to, path), { recursive: true });
  });
} finally {
  rmSync(folder, { recursive: true });
}

function platformPackage() {
  const [os, cpu, libc] = target.split("-");
  return {
    name: `@hapax-webhooks/${target}`,
    version,
    description: `The native module and the binary of hapax-webhooks for ${target}`,
    license,
    repository,
    engines,
    os: [os],
    cpu: [cpu],
    ...(os === "linux" ? { libc: [libc === "gnu" ? "glibc" : "musl"] } : {}),
    preferUnplugged: true,
  };
}

function pack(name, manifest, fill) {
  const to = join(folder, name);
  mkdirSync(to);
  writeFileSync(join(to, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const path of LICENSES) cpSync(path, join(to, path.split(/[\\/]/).at(-1)));
  fill(to);
  const isWindows = process.platform === "win32";
  const options = { cwd: to, encoding: "utf8", shell: isWindows, stdio: ["ignore", "pipe", "inherit"] };
  console.log(execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(out)], options).trim());
}
