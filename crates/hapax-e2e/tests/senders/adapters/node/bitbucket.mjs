import XHubSignature from "x-hub-signature";

export const LIBRARY = "x-hub-signature";

export function sign({ id, secret }) {
    const body = JSON.stringify({ actor: { display_name: "Ada" }, repository: { full_name: "team/repo" } });
    const signature = new XHubSignature("sha256", secret).sign(body);
    return [{ "Content-Type": "application/json", "X-Event-Key": "repo:push", "X-Request-UUID": id, "X-Hub-Signature": signature }, body];
}

export const verify = ({ headers, body }, secret) => new XHubSignature("sha256", secret).verify(headers["x-hub-signature"], body);
