import { createHmac } from "node:crypto";
import { WebhookVerificationService } from "@hookflo/tern";

export const LIBRARY = "@hookflo/tern";

export function sign({ id, secret }) {
    const body = JSON.stringify({ action: "created", installation: { uuid: "1" }, data: { error: { event_id: id } }, actor: { type: "application" } });
    return [{
        "Content-Type": "application/json",
        "Request-ID": id,
        "Sentry-Hook-Resource": "error",
        "Sentry-Hook-Timestamp": Math.floor(Date.now() / 1000),
        "Sentry-Hook-Signature": createHmac("sha256", secret).update(body).digest("hex"),
    }, body];
}

export async function verify({ method, url, headers, body }, secret) {
    const request = new Request(url, { method, headers, body });
    return (await WebhookVerificationService.verifyWithPlatformConfig(request, "sentry", secret)).isValid;
}
