import XHubSignature from "x-hub-signature";

export const LIBRARY = "x-hub-signature";

export function sign({ id, secret }) {
    const body = JSON.stringify({ type: "notification_event", id, topic: "conversation.user.created", data: {} });
    return [{ "Content-Type": "application/json", "X-Hub-Signature": new XHubSignature("sha1", secret).sign(body) }, body];
}

export const verify = ({ headers, body }, secret) => new XHubSignature("sha1", secret).verify(headers["x-hub-signature"], body);
