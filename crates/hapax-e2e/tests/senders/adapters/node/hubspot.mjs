import { Signature } from "@hubspot/api-client";

export const LIBRARY = "@hubspot/api-client";

const options = (clientSecret, url, requestBody, timestamp) => ({ clientSecret, url, requestBody, timestamp });

export function sign({ id, secret, url }) {
    const body = JSON.stringify([{ eventId: Number(id), subscriptionId: 1, objectId: 2, subscriptionType: "contact.creation" }]);
    const timestamp = Date.now();
    return [{
        "Content-Type": "application/json",
        "X-HubSpot-Request-Timestamp": timestamp,
        "X-HubSpot-Signature-v3": Signature.getSignature("POST", "v3", options(secret, url, body, timestamp)),
    }, body];
}

export const verify = ({ method, url, headers, body }, secret) =>
    Signature.isValid({
        ...options(secret, url, body.toString(), Number(headers["x-hubspot-request-timestamp"])),
        method,
        signatureVersion: "v3",
        signature: headers["x-hubspot-signature-v3"],
    });
