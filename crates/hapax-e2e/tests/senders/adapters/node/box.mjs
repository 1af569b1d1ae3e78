import { createHmac } from "node:crypto";
import { WebhooksManager } from "box-node-sdk/lib/managers/webhooks";

export const LIBRARY = "box-node-sdk";

export function sign({ id, secret }) {
    const body = JSON.stringify({ type: "webhook_event", id, trigger: "FILE.UPLOADED" });
    const time = new Date().toISOString().replace(/\.\d+Z/, "Z");
    const headers = {
        "Content-Type": "application/json",
        "BOX-SIGNATURE-VERSION": "1",
        "BOX-SIGNATURE-ALGORITHM": "HmacSHA256",
        "BOX-SIGNATURE-PRIMARY": createHmac("sha256", secret).update(body + time).digest("base64"),
        "BOX-DELIVERY-TIMESTAMP": time,
    };
    return [headers, body];
}

export const verify = ({ headers, body }, secret) => WebhooksManager.validateMessage(body.toString(), headers, secret);
