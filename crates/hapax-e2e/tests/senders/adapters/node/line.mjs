import { createHmac } from "node:crypto";
import { validateSignature } from "@line/bot-sdk";

export const LIBRARY = "@line/bot-sdk";

export function sign({ id, secret }) {
    const event = { type: "follow", webhookEventId: id, deliveryContext: { isRedelivery: false }, timestamp: 1, mode: "active" };
    const body = JSON.stringify({ destination: "U0", events: [event] });
    return [{ "Content-Type": "application/json", "X-Line-Signature": createHmac("sha256", secret).update(body).digest("base64") }, body];
}

export const verify = ({ headers, body }, secret) => validateSignature(body, secret, headers["x-line-signature"]);
