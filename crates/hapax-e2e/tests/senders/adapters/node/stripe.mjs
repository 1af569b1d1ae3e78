import Stripe from "stripe";

export const LIBRARY = "stripe";

const { webhooks } = new Stripe("sk_test_none");

export function sign({ id, secret }) {
    const object = { id: "pi_1", object: "payment_intent" };
    const payload = JSON.stringify({ id, object: "event", type: "payment_intent.succeeded", data: { object } });
    return [{ "Content-Type": "application/json", "Stripe-Signature": webhooks.generateTestHeaderString({ payload, secret }) }, payload];
}

export const verify = ({ headers, body }, secret) => webhooks.constructEvent(body, headers["stripe-signature"], secret);
