import { createHash } from "node:crypto";
import { decodeProtectedHeader, importJWK, jwtVerify, SignJWT } from "jose";

// Plaid's documentation verifies with a JWT library; Plaid's own library cannot.
export const LIBRARY = "jose";

const hash = (body) => createHash("sha256").update(body).digest("hex");

export async function sign({ id, secret }) {
    const body = JSON.stringify({ webhook_type: "ITEM", webhook_code: "NEW_ACCOUNTS_AVAILABLE", item_id: id });
    const key = JSON.parse(secret);
    const token = new SignJWT({ request_body_sha256: hash(body) }).setProtectedHeader({ alg: "ES256", kid: key.kid, typ: "JWT" });
    return [{ "Content-Type": "application/json", "Plaid-Verification": await token.setIssuedAt().sign(await importJWK(key)) }, body];
}

export async function verify({ headers, body }, secret) {
    const [token, key] = [headers["plaid-verification"], JSON.parse(secret)];
    if (decodeProtectedHeader(token).kid !== key.kid) return false;
    const { payload } = await jwtVerify(token, await importJWK(key), { algorithms: ["ES256"], maxTokenAge: "5 min" });
    return payload.request_body_sha256 === hash(body);
}
