import { createHmac } from "node:crypto";
import Razorpay from "razorpay";

export const LIBRARY = "razorpay";

export function sign({ id, secret }) {
    const body = JSON.stringify({ entity: "event", event: "payment.captured", payload: {}, created_at: 1767225599 });
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    return [{ "Content-Type": "application/json", "X-Razorpay-Event-Id": id, "X-Razorpay-Signature": signature }, body];
}

export const verify = ({ headers, body }, secret) =>
    Razorpay.validateWebhookSignature(body.toString(), headers["x-razorpay-signature"], secret);
