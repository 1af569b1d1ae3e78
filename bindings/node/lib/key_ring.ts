/** Keys that a provider publishes, fetched when a delivery names one. */

import type { KeyRequest, Keys } from "./native_types.js";

const FETCH_MS_MAX = 5_000;
const KEY_BYTES_MAX = 256 * 1024;
const KEYS_MAX = 32;
const KEPT_MS = 3_600_000;

export class KeyRing {
  readonly #keys = new Map<string, { readonly key: Buffer; readonly until: number }>();

  /** Keys that were fetched before. Only published ones are kept: tokens and answers belong to one request. */
  known(): Keys | undefined {
    if (this.#keys.size === 0) return undefined;
    const now = performance.now();
    for (const [id, { until }] of this.#keys) if (until < now) this.#keys.delete(id);
    return Object.fromEntries([...this.#keys].map(([id, { key }]) => [id, key]));
  }

  /** The key, or undefined if the provider does not give it now: then the delivery is refused, and comes again. */
  async fetch({ url, keyId, kind, headers, body, expects }: KeyRequest): Promise<Buffer | undefined> {
    try {
      const response = await fetch(url, {
        method: body === undefined ? "GET" : "POST",
        headers: headers as Array<[string, string]>,
        ...(body === undefined ? {} : { body: new Uint8Array(body) }),
        redirect: "error",
        signal: AbortSignal.timeout(FETCH_MS_MAX),
      });
      const key = response.ok ? await bounded(response) : undefined;
      if (key === undefined || !key.includes(expects)) return undefined;
      if (kind === "published") this.#keep(keyId, key);
      return key;
    } catch {
      return undefined;
    }
  }

  #keep(keyId: string, key: Buffer): void {
    const [oldest] = this.#keys.keys();
    if (this.#keys.size >= KEYS_MAX && oldest !== undefined) this.#keys.delete(oldest);
    this.#keys.set(keyId, { key, until: performance.now() + KEPT_MS });
  }
}

async function bounded(response: Response): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > KEY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
