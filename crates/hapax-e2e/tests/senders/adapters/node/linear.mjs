import { createHmac } from "node:crypto";
import { LinearWebhookClient } from "@linear/sdk/webhooks";

export const LIBRARY = "@linear/sdk";

export function sign({ id, secret }) {
    const body = JSON.stringify({ action: "create", type: "Issue", data: { id: "1" }, webhookTimestamp: Date.now() });
    return [{
        "Content-Type": "application/json",
        "Linear-Delivery": id,
        "Linear-Event": "Issue",
        "Linear-Signature": createHmac("sha256", secret).update(body).digest("hex"),
    }, body];
}

export async function verify({ method, url, headers, body }, secret) {
    const handler = new LinearWebhookClient(secret).createHandler();
    return (await handler(new Request(url, { method, headers, body }))).status === 200;
}
