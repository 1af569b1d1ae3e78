import commerce from "coinbase-commerce-node";

export const LIBRARY = "coinbase-commerce-node";

export function sign({ id, secret }) {
    const body = JSON.stringify({ id: 1, attempt_number: 1, event: { id, type: "charge:confirmed", data: { code: "a" } } });
    return [{ "Content-Type": "application/json", "X-CC-Webhook-Signature": commerce.Webhook.computeSignature(body, secret) }, body];
}

export const verify = ({ headers, body }, secret) =>
    commerce.Webhook.verifyEventBody(body.toString(), headers["x-cc-webhook-signature"], secret);
