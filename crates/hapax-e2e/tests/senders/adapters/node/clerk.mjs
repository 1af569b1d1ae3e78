import { verifyWebhook } from "@clerk/backend/webhooks";
import { Webhook } from "standardwebhooks";

export const LIBRARY = "@clerk/backend";

export function sign({ id, secret }) {
    const [body, now] = [JSON.stringify({ type: "user.created", object: "event", data: { id: "user_1" } }), new Date()];
    return [{
        "Content-Type": "application/json",
        "svix-id": id,
        "svix-timestamp": Math.floor(now / 1000),
        "svix-signature": new Webhook(secret).sign(id, now, body),
    }, body];
}

export const verify = ({ method, url, headers, body }, signingSecret) =>
    verifyWebhook(new Request(url, { method, headers, body }), { signingSecret });
