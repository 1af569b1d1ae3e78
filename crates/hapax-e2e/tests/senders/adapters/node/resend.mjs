import { Resend } from "resend";
import { Webhook } from "standardwebhooks";

export const LIBRARY = "resend";

export function sign({ id, secret }) {
    const [body, now] = [JSON.stringify({ type: "email.delivered", data: { email_id: "1" } }), new Date()];
    return [{
        "Content-Type": "application/json",
        "svix-id": id,
        "svix-timestamp": Math.floor(now / 1000),
        "svix-signature": new Webhook(secret).sign(id, now, body),
    }, body];
}

export const verify = ({ headers, body }, webhookSecret) =>
    new Resend("re_none").webhooks.verify({
        payload: body.toString(),
        headers: { id: headers["svix-id"], timestamp: headers["svix-timestamp"], signature: headers["svix-signature"] },
        webhookSecret,
    });
