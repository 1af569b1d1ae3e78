import { createPrivateKey, sign as ecdsa } from "node:crypto";
import eventWebhook from "@sendgrid/eventwebhook";

export const LIBRARY = "@sendgrid/eventwebhook";

const [SIGNATURE, TIMESTAMP] = ["x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp"];

export function sign({ id, secret }) {
    const body = JSON.stringify([{ email: "ada@example.com", event: "delivered", sg_event_id: id }]);
    const timestamp = String(Math.floor(Date.now() / 1000));
    const key = createPrivateKey({ key: Buffer.from(secret, "base64"), format: "der", type: "pkcs8" });
    const signature = ecdsa("sha256", Buffer.from(timestamp + body), key).toString("base64");
    return [{ "Content-Type": "application/json", [SIGNATURE]: signature, [TIMESTAMP]: timestamp }, body];
}

export function verify({ headers, body }, secret) {
    const webhook = new eventWebhook.EventWebhook();
    return webhook.verifySignature(webhook.convertPublicKeyToECDSA(secret), body, headers[SIGNATURE], headers[TIMESTAMP]);
}
