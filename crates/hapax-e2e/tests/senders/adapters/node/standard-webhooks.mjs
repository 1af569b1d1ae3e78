import { Webhook } from "standardwebhooks";

export const LIBRARY = "standardwebhooks";

export function sign({ id, secret }) {
    const [body, now] = [JSON.stringify({ type: "contact.created", data: { id: "1" } }), new Date()];
    return [{
        "Content-Type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": Math.floor(now / 1000),
        "webhook-signature": new Webhook(secret).sign(id, now, body),
    }, body];
}

export const verify = ({ headers, body }, secret) => new Webhook(secret).verify(body, headers);
