import { Webhook } from "svix";

export const LIBRARY = "svix";

export function sign({ id, secret }) {
    const [body, now] = [JSON.stringify({ type: "contact.created", data: { id: "1" } }), new Date()];
    return [{
        "Content-Type": "application/json",
        "svix-id": id,
        "svix-timestamp": Math.floor(now / 1000),
        "svix-signature": new Webhook(secret).sign(id, now, body),
    }, body];
}

export const verify = ({ headers, body }, secret) => new Webhook(secret).verify(body, headers);
