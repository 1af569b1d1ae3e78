import json

from Adyen.util import generate_notification_sig, is_valid_hmac_notification

LIBRARY = "Adyen"
# Only some fields are signed.
SIGNED = r'(?<="value":)\d+'


def sign(event):
    item = {
        "pspReference": event.id,
        "merchantAccountCode": "TestMerchant",
        "merchantReference": "order-1",
        "amount": {"value": 1130, "currency": "EUR"},
        "eventCode": "AUTHORISATION",
        "success": "true",
    }
    signature = generate_notification_sig(item, event.secret).decode()
    item = {**item, "additionalData": {"hmacSignature": signature}}
    body = {"live": "false", "notificationItems": [{"NotificationRequestItem": item}]}
    return {"Content-Type": "application/json"}, json.dumps(body, separators=(",", ":"))


def verify(request, secret):
    return is_valid_hmac_notification(json.loads(request.body), secret) is True
