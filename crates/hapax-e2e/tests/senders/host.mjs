// Runs the adapters in JavaScript, as host.py runs those in Python: the same documents, the same names.
//
// An adapter exports LIBRARY, sign(event), verify(request, secret), and SIGNED or TOKEN if it needs them; `sign`
// returns [headers, body] or [headers, body, url]. The body of a request is a Buffer.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

console.log = console.info = console.debug = console.error; // Some libraries print.

const calls = {
    describe: (adapter) => ({
        library: adapter.LIBRARY,
        version: JSON.parse(readFileSync(new URL(`node_modules/${adapter.LIBRARY}/package.json`, import.meta.url))).version,
        signed: adapter.SIGNED ?? null,
        token: adapter.TOKEN ?? null,
    }),
    async sign(adapter, { event }) {
        const [headers, body, url] = await adapter.sign(event);
        return {
            method: "POST",
            url: url ?? event.url,
            headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)])),
            body: Buffer.from(body).toString("base64"),
        };
    },
    async verify(adapter, { request, secret }) {
        try {
            const answer = await adapter.verify({ ...request, body: Buffer.from(request.body, "base64") }, secret);
            return { accepted: answer !== false, why: String(answer) };
        } catch (error) {
            return { accepted: false, why: `${error?.name}: ${error?.message}` };
        }
    },
};

for await (const line of createInterface({ input: process.stdin })) {
    const message = JSON.parse(line);
    let answer;
    try {
        answer = await calls[message.call](await import(`./adapters/node/${message.provider}.mjs`), message);
    } catch (error) {
        answer = { error: `${error?.name}: ${error?.message}` };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
}
process.exit(0); // Some libraries keep timers.
