import XHubSignature from "x-hub-signature";

export const LIBRARY = "x-hub-signature";

export function sign({ id, secret }) {
    const body = JSON.stringify({ timestamp: 1767225599000, webhookEvent: "jira:issue_updated", issue: { id: "1" } });
    const signature = new XHubSignature("sha256", secret).sign(body);
    return [{ "Content-Type": "application/json", "X-Atlassian-Webhook-Identifier": id, "X-Hub-Signature": signature }, body];
}

export const verify = ({ headers, body }, secret) => new XHubSignature("sha256", secret).verify(headers["x-hub-signature"], body);
