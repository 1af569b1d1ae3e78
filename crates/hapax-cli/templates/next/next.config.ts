import type { NextConfig } from "next";

const config: NextConfig = {
  // Native modules are loaded, not bundled.
  serverExternalPackages: ["hapax-webhooks", "better-sqlite3", "knex"],
};

export default config;
