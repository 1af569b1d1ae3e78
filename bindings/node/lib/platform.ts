/** Which package holds the native module and the binary for this machine. */

const TARGETS = ["darwin-arm64", "linux-arm64-gnu", "linux-x64-gnu"] as const;

/** The platforms that have a package. */
export function platforms(): readonly string[] {
  return TARGETS;
}

/** The package of this platform, if there is one. */
export function platformPackage(
  platform: string = process.platform,
  arch: string = process.arch,
  isMusl: () => boolean = runsOnMusl,
): string | undefined {
  const abi = platform === "linux" ? (isMusl() ? "-musl" : "-gnu") : platform === "win32" ? "-msvc" : "";
  const target = TARGETS.find((name) => name === `${platform}-${arch}${abi}`);
  return target && `@hapax-webhooks/${target}`;
}

/**
 * Whether this process is linked against musl. Node's own report knows; files such as ldd may belong to another libc
 * (nix, AppImage, a second libc beside the first).
 */
function runsOnMusl(): boolean {
  const report = process.report as (NodeJS.ProcessReport & { excludeNetwork?: boolean }) | undefined;
  if (report === undefined) return false;
  const before = report.excludeNetwork;
  report.excludeNetwork = true; // Reverse DNS lookups would take seconds.
  try {
    const { header, sharedObjects } = report.getReport() as unknown as {
      header: { glibcVersionRuntime?: string };
      sharedObjects?: string[];
    };
    if (header.glibcVersionRuntime !== undefined) return false;
    return sharedObjects?.some((path) => path.includes("ld-musl-")) ?? true;
  } finally {
    report.excludeNetwork = before ?? false;
  }
}
