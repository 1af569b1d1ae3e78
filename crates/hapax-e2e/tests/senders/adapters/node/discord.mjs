import { createPrivateKey, sign as ed25519 } from "node:crypto";
import { verifyKey } from "discord-interactions";

export const LIBRARY = "discord-interactions";

export function sign({ id, secret }) {
    const body = JSON.stringify({ id, application_id: "1", type: 2, version: 1, data: { name: "sample" } });
    const timestamp = String(Math.floor(Date.now() / 1000));
    // PKCS #8 around the 32 bytes.
    const der = Buffer.from(`302e020100300506032b657004220420${secret}`, "hex");
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    const signature = ed25519(null, Buffer.from(timestamp + body), key).toString("hex");
    return [{ "Content-Type": "application/json", "X-Signature-Ed25519": signature, "X-Signature-Timestamp": timestamp }, body];
}

export const verify = ({ headers, body }, secret) =>
    verifyKey(body, headers["x-signature-ed25519"], headers["x-signature-timestamp"], secret);
