import { createHmac } from "node:crypto";
import { WebhookVerificationService } from "@hookflo/tern";

export const LIBRARY = "@hookflo/tern";

export function sign({ id, secret }) {
    const body = JSON.stringify({ id: Number(id), status: "processing", date_modified_gmt: "2026-01-01T00:00:00" });
    return [{
        "Content-Type": "application/json",
        "X-WC-Webhook-Source": "https://shop.example/",
        "X-WC-Webhook-Topic": "order.updated",
        "X-WC-Webhook-Signature": createHmac("sha256", secret).update(body).digest("base64"),
    }, body];
}

export async function verify({ method, url, headers, body }, secret) {
    const request = new Request(url, { method, headers, body });
    const answer = await WebhookVerificationService.verifyWithPlatformConfig(request, "woocommerce", secret);
    return answer.isValid && Number.isSafeInteger(JSON.parse(body).id);
}
