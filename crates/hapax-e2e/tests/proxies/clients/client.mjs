// Posts a body of zeros with Node's fetch: client.mjs URL BYTES TIMES
// Prints a line for each request: its status, or the error.
const [url, length, times] = process.argv.slice(2);
const body = Buffer.alloc(Number(length));
for (let request = 0; request < Number(times); request++) {
  try {
    const answer = await fetch(url, { method: "POST", body });
    await answer.arrayBuffer();
    console.log(answer.status);
  } catch (error) {
    console.log(`${error} ${error.cause ?? ""}`);
  }
}
