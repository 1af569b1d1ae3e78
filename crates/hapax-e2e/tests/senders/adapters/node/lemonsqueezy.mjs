import { createHmac } from "node:crypto";
import { WebhookVerificationService } from "@hookflo/tern";

export const LIBRARY = "@hookflo/tern";

export function sign({ id, secret }) {
    const data = { type: "orders", id, attributes: { status: "paid", updated_at: "2026-01-01T00:00:00.000000Z" } };
    const body = JSON.stringify({ meta: { event_name: "order_created" }, data });
    return [{
        "Content-Type": "application/json",
        "X-Event-Name": "order_created",
        "X-Signature": createHmac("sha256", secret).update(body).digest("hex"),
    }, body];
}

export async function verify({ method, url, headers, body }, secret) {
    const request = new Request(url, { method, headers, body });
    return (await WebhookVerificationService.verifyWithPlatformConfig(request, "lemonsqueezy", secret)).isValid;
}
