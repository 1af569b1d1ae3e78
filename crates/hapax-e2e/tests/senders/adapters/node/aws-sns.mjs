import { createPrivateKey, createPublicKey, sign as rsa } from "node:crypto";
import https from "node:https";
import SnsValidator from "sns-validator";

export const LIBRARY = "sns-validator";
// Only some fields are signed.
export const SIGNED = '(?<="Message":")[\\w ]+';

export function sign({ id, secret }) {
    const message = {
        Message: "hello",
        MessageId: id,
        Timestamp: new Date().toISOString(),
        TopicArn: "arn:aws:sns:us-east-1:123456789012:sample",
        Type: "Notification",
    };
    const content = Object.entries(message).map(([name, value]) => `${name}\n${value}\n`).join("");
    const key = createPrivateKey({ key: Buffer.from(secret, "base64"), format: "der", type: "pkcs8" });
    const signed = {
        ...message,
        SignatureVersion: "2",
        Signature: rsa("sha256", Buffer.from(content), key).toString("base64"),
        SigningCertURL: "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
    };
    return [{ "Content-Type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": "Notification" }, JSON.stringify(signed)];
}

export function verify({ body }, secret) {
    const key = createPublicKey({ key: Buffer.from(secret, "base64"), format: "der", type: "spki" });
    serve(key.export({ format: "pem", type: "spki" }));
    return new Promise((resolve, reject) => {
        new SnsValidator().validate(body.toString(), (error, message) => (error ? reject(error) : resolve(message.MessageId)));
    });
}

// Stands in for Amazon's server, which does not publish this test's key.
function serve(pem) {
    https.get = (_, respond) => {
        const answer = { statusCode: 200, on: (event, listener) => (listener(event === "data" ? pem : undefined), answer) };
        respond(answer);
        return { on() {} };
    };
}
