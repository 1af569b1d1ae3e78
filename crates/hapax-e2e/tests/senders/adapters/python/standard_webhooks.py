import json
from datetime import datetime, timezone

from standardwebhooks import Webhook

LIBRARY = "standardwebhooks"


def sign(event):
    body, now = json.dumps({"type": "contact.created", "data": {"id": "1"}}), datetime.now(timezone.utc)
    return {
        "Content-Type": "application/json",
        "webhook-id": event.id,
        "webhook-timestamp": int(now.timestamp()),
        "webhook-signature": Webhook(event.secret).sign(event.id, now, body),
    }, body


def verify(request, secret):
    Webhook(secret).verify(request.body, request.headers)
