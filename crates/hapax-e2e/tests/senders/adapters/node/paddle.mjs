import { createHmac } from "node:crypto";
import { Paddle } from "@paddle/paddle-node-sdk";

export const LIBRARY = "@paddle/paddle-node-sdk";

export function sign({ id, secret }) {
    const body = JSON.stringify({ event_id: id, event_type: "transaction.paid", notification_id: "ntf_1", data: { id: "txn_1" } });
    const ts = Math.floor(Date.now() / 1000);
    const h1 = createHmac("sha256", secret).update(`${ts}:${body}`).digest("hex");
    return [{ "Content-Type": "application/json", "Paddle-Signature": `ts=${ts};h1=${h1}` }, body];
}

export const verify = ({ headers, body }, secret) =>
    new Paddle("none").webhooks.isSignatureValid(body.toString(), secret, headers["paddle-signature"]);
