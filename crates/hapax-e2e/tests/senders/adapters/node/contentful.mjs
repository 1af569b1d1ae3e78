import { signRequest, verifyRequest } from "@contentful/node-apps-toolkit";

export const LIBRARY = "@contentful/node-apps-toolkit";

const path = (url) => new URL(url).pathname + new URL(url).search;

export function sign({ id, secret, url }) {
    const body = JSON.stringify({ sys: { type: "Entry", id: "sample", version: 7 } });
    const headers = {
        "Content-Type": "application/vnd.contentful.management.v1+json",
        "X-Contentful-Topic": "ContentManagement.Entry.publish",
        "X-Contentful-Idempotency-Key": id,
    };
    return [{ ...headers, ...signRequest(secret, { method: "POST", path: path(url), headers, body }) }, body];
}

export const verify = ({ method, url, headers, body }, secret) =>
    verifyRequest(secret, { method, path: path(url), headers, body: body.toString() });
