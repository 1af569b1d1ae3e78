import { createHmac } from "node:crypto";
import { WebhooksHelper } from "square";

export const LIBRARY = "square";

export function sign({ id, secret, url }) {
    const body = JSON.stringify({ merchant_id: "M1", type: "payment.updated", event_id: id, data: {} });
    const signature = createHmac("sha256", secret).update(url + body).digest("base64");
    return [{ "Content-Type": "application/json", "X-Square-HmacSha256-Signature": signature }, body];
}

export const verify = ({ url, headers, body }, signatureKey) =>
    WebhooksHelper.verifySignature({
        requestBody: body.toString(),
        signatureHeader: headers["x-square-hmacsha256-signature"],
        signatureKey,
        notificationUrl: url,
    });
