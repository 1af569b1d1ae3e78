import twilio from "twilio";

export const LIBRARY = "twilio";

export function sign({ id, secret, url }) {
    const form = { MessageSid: `SM${id}`, MessageStatus: "delivered", From: "+15005550006", To: "+15005550009" };
    return [{
        "Content-Type": "application/x-www-form-urlencoded",
        "I-Twilio-Idempotency-Token": id,
        "X-Twilio-Signature": twilio.getExpectedTwilioSignature(secret, url, form),
    }, new URLSearchParams(form).toString()];
}

export function verify({ url, headers, body }, secret) {
    const form = Object.fromEntries(new URLSearchParams(body.toString()));
    return twilio.validateRequest(secret, headers["x-twilio-signature"], url, form);
}
