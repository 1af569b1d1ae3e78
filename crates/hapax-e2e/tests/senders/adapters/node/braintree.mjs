import braintree from "braintree";

export const LIBRARY = "braintree";
export const SIGNED = "(?<=bt_payload=)\\w+";

const gateway = (privateKey) =>
    new braintree.BraintreeGateway({
        environment: braintree.Environment.Sandbox,
        merchantId: "sample",
        publicKey: "sample_public_key",
        privateKey,
    });

export async function sign({ id, secret }) {
    const kind = braintree.WebhookNotification.Kind.SubscriptionWentPastDue;
    const form = await gateway(secret).webhookTesting.sampleNotification(kind, id);
    return [{ "Content-Type": "application/x-www-form-urlencoded" }, new URLSearchParams(form).toString()];
}

export async function verify({ body }, secret) {
    const form = new URLSearchParams(body.toString());
    const notification = await gateway(secret).webhookNotification.parse(form.get("bt_signature"), form.get("bt_payload"));
    return notification.subscription.id !== "";
}
