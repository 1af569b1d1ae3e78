import { createHmac } from "node:crypto";
import Pusher from "pusher";

export const LIBRARY = "pusher";

export function sign({ id, secret }) {
    const body = JSON.stringify({ time_ms: Date.now(), events: [{ name: "channel_occupied", channel: id }] });
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    return [{ "Content-Type": "application/json", "X-Pusher-Key": "sample", "X-Pusher-Signature": signature }, body];
}

export const verify = ({ headers, body }, secret) =>
    new Pusher({ appId: "1", key: "sample", secret }).webhook({ headers, rawBody: body.toString() }).isValid();
