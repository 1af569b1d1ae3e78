import "@shopify/shopify-api/adapters/node";
import { createHmac } from "node:crypto";
import { ApiVersion, shopifyApi } from "@shopify/shopify-api";

export const LIBRARY = "@shopify/shopify-api";

export function sign({ id, secret }) {
    const body = JSON.stringify({ id: 1, email: "ada@example.com" });
    return [{
        "Content-Type": "application/json",
        "X-Shopify-API-Version": ApiVersion.October25,
        "X-Shopify-Hmac-Sha256": createHmac("sha256", secret).update(body).digest("base64"),
        "X-Shopify-Shop-Domain": "acme.myshopify.com",
        "X-Shopify-Topic": "orders/create",
        "X-Shopify-Webhook-Id": id,
    }, body];
}

export async function verify({ method, url, headers, body }, apiSecretKey) {
    const shop = { apiKey: "none", apiSecretKey, apiVersion: ApiVersion.October25, hostName: "127.0.0.1", isEmbeddedApp: false };
    const answer = await shopifyApi(shop).webhooks.validate({ rawBody: body.toString(), rawRequest: { method, url, headers } });
    if (!answer.valid) throw new Error(JSON.stringify(answer));
}
