/** A delivery that was started: on a thread of its own if its driver blocks and others are under way, else on this one. */

import { Worker } from "node:worker_threads";

import { deliver } from "./deliver.mjs";

export interface Started {
  /** Resolves when its handler holds, or when it ended. */
  readonly holding: Promise<void>;
  readonly result: Promise<string>;
  tell(word: "release" | "fail"): void;
}

export function start(delivery: Parameters<typeof deliver>[0], dialect: "postgres" | "sqlite"): Started {
  const isOneOfSeveral = delivery.step.as !== undefined || delivery.step.at_once !== undefined;
  return dialect === "sqlite" && isOneOfSeveral ? onThread(delivery) : here(delivery);
}

function here(delivery: Parameters<typeof deliver>[0]): Started {
  let tell: (word: "release" | "fail") => void = () => {};
  const told = new Promise<"release" | "fail">((resolve) => (tell = resolve));
  let result: Promise<string> = Promise.resolve("");
  const holding = new Promise<void>((resolve) => {
    result = deliver(delivery, async () => {
      resolve();
      if ((await told) === "fail") throw new Error("told to fail");
    });
    result.then(() => resolve(), () => resolve());
  });
  return { holding, result, tell };
}

function onThread(delivery: Parameters<typeof deliver>[0]): Started {
  const cell = new SharedArrayBuffer(4);
  const worker = new Worker(new URL("./delivery_worker.mjs", import.meta.url), { workerData: { delivery, cell } });
  let isHeld: () => void = () => {};
  const holding = new Promise<void>((resolve) => (isHeld = resolve));
  const result = new Promise<string>((resolve, reject) => {
    worker.on("message", (message: { holding?: true; result?: string }) => {
      if (message.holding) isHeld();
      if (message.result !== undefined) resolve(message.result);
    });
    worker.on("error", reject);
  });
  result.then(isHeld, isHeld);
  const tell = (word: "release" | "fail"): void => {
    const told = new Int32Array(cell);
    Atomics.store(told, 0, word === "fail" ? 2 : 1);
    Atomics.notify(told, 0);
  };
  return { holding, result, tell };
}
