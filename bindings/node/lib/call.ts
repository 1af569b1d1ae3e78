/** A call to another system, to be made after the commit. */

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** An explicit `Idempotency-Key`, if the receiver expects a certain one. */
  readonly key?: string;
  /** Calls with the same order key are made one after another, in the order in which they were staged. */
  readonly orderKey?: string;
}

export class Call {
  private constructor(
    readonly kind: "http" | "destination",
    readonly target: string,
    readonly options: CallOptions,
  ) {
    Object.freeze(this);
  }

  /** A POST request to `url`. */
  static http(url: string, options: CallOptions = {}): Call {
    return new Call("http", url, options);
  }

  /** A delivery to the destination with this name in `hapax.toml`, with its retries, limits and signature. */
  static destination(name: string, options: CallOptions = {}): Call {
    return new Call("destination", name, options);
  }
}
