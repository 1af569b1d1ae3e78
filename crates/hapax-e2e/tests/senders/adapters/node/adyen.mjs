import { hmacValidator } from "@adyen/api-library";

export const LIBRARY = "@adyen/api-library";
// Only some fields are signed.
export const SIGNED = '(?<="value":)\\d+';

export function sign({ id, secret }) {
    const item = {
        pspReference: id,
        merchantAccountCode: "TestMerchant",
        merchantReference: "order-1",
        amount: { value: 1130, currency: "EUR" },
        eventCode: "AUTHORISATION",
        success: "true",
    };
    item.additionalData = { hmacSignature: new hmacValidator().calculateHmac(item, secret) };
    const body = { live: "false", notificationItems: [{ NotificationRequestItem: item }] };
    return [{ "Content-Type": "application/json" }, JSON.stringify(body)];
}

export function verify({ body }, secret) {
    const [{ NotificationRequestItem }] = JSON.parse(body).notificationItems;
    return new hmacValidator().validateHMAC(NotificationRequestItem, secret);
}
