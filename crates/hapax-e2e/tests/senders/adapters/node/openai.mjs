import OpenAI from "openai";
import { Webhook } from "standardwebhooks";

export const LIBRARY = "openai";

export function sign({ id, secret }) {
    const body = JSON.stringify({ object: "event", id: "evt_1", type: "response.completed", created_at: 1, data: { id: "resp_1" } });
    const now = new Date();
    return [{
        "Content-Type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": Math.floor(now / 1000),
        "webhook-signature": new Webhook(secret).sign(id, now, body),
    }, body];
}

export const verify = ({ headers, body }, webhookSecret) =>
    new OpenAI({ apiKey: "none", webhookSecret }).webhooks.unwrap(body.toString(), headers);
