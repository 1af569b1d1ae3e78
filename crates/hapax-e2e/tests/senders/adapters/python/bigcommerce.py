import base64
import json
from datetime import datetime, timezone

from standardwebhooks import Webhook

# BigCommerce signs with Standard Webhooks, with the client secret as it is.
LIBRARY = "standardwebhooks"


def webhook(secret):
    return Webhook(base64.b64encode(secret.encode()).decode())


def sign(event):
    body, now = json.dumps({"scope": "store/order/created", "data": {"type": "order", "id": 250}}), datetime.now(timezone.utc)
    return {
        "Content-Type": "application/json",
        "webhook-id": event.id,
        "webhook-timestamp": int(now.timestamp()),
        "webhook-signature": webhook(event.secret).sign(event.id, now, body),
    }, body


def verify(request, secret):
    webhook(secret).verify(request.body, request.headers)
