import json
from datetime import datetime, timezone

from svix.webhooks import Webhook

LIBRARY = "svix"


def sign(event):
    body, now = json.dumps({"type": "contact.created", "data": {"id": "1"}}), datetime.now(timezone.utc)
    return {
        "Content-Type": "application/json",
        "svix-id": event.id,
        "svix-timestamp": int(now.timestamp()),
        "svix-signature": Webhook(event.secret).sign(event.id, now, body),
    }, body


def verify(request, secret):
    Webhook(secret).verify(request.body, request.headers)
