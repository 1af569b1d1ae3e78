import { sign as signature, verify as isValid } from "@octokit/webhooks-methods";

export const LIBRARY = "@octokit/webhooks-methods";

export async function sign({ id, secret }) {
    const body = JSON.stringify({ action: "opened", number: 1 });
    return [{
        "Content-Type": "application/json",
        "X-GitHub-Delivery": id,
        "X-GitHub-Event": "pull_request",
        "X-Hub-Signature-256": await signature(secret, body),
    }, body];
}

export const verify = ({ headers, body }, secret) => isValid(secret, body.toString(), headers["x-hub-signature-256"]);
