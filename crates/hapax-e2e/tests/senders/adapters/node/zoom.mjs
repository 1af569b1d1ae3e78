import { createHmac } from "node:crypto";
import { AwsLambdaReceiver } from "@zoom/rivet/meetings";

export const LIBRARY = "@zoom/rivet";

export function sign({ id, secret }) {
    const body = JSON.stringify({ event: "meeting.started", event_ts: Date.now(), payload: { account_id: "A", object: { id, uuid: id } } });
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex")}`;
    return [{ "Content-Type": "application/json", "x-zm-request-timestamp": timestamp, "x-zm-signature": signature }, body];
}

export async function verify({ headers, body }, webhooksSecretToken) {
    const handle = new AwsLambdaReceiver({ webhooksSecretToken }).start();
    return (await handle({ headers, body: body.toString(), isBase64Encoded: false }, {})).statusCode === 200;
}
