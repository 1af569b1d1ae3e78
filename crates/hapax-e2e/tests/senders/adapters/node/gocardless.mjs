import { createHmac } from "node:crypto";
import { parse } from "gocardless-nodejs/webhooks";

export const LIBRARY = "gocardless-nodejs";

export function sign({ id, secret }) {
    const event = { id, resource_type: "payments", action: "paid_out", links: { payment: "PM1" } };
    const body = JSON.stringify({ events: [event] });
    return [{ "Content-Type": "application/json", "Webhook-Signature": createHmac("sha256", secret).update(body).digest("hex") }, body];
}

export const verify = ({ headers, body }, secret) => parse(body, secret, headers["webhook-signature"]);
