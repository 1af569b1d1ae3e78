/** A delivery on a thread of its own, because drivers of SQLite block theirs. */

import { parentPort, workerData } from "node:worker_threads";

import { deliver } from "./deliver.mjs";

const { delivery, cell } = workerData;
const word = new Int32Array(cell);

function hold() {
  parentPort?.postMessage({ holding: true });
  Atomics.wait(word, 0, 0);
  if (word[0] === 2) throw new Error("told to fail");
}

parentPort?.postMessage({ result: await deliver(delivery, hold) });
