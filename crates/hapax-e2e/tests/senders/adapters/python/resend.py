import json
from datetime import datetime, timezone

from resend import Webhooks
from standardwebhooks import Webhook

LIBRARY = "resend"
SIGNER = "standardwebhooks"


def sign(event):
    body, now = json.dumps({"type": "email.delivered", "data": {"email_id": "1"}}), datetime.now(timezone.utc)
    return {
        "Content-Type": "application/json",
        "svix-id": event.id,
        "svix-timestamp": int(now.timestamp()),
        "svix-signature": Webhook(event.secret).sign(event.id, now, body),
    }, body


def verify(request, secret):
    headers = {name: request.headers[f"svix-{name}"] for name in ("id", "timestamp", "signature")}
    Webhooks.verify({"payload": request.body.decode(), "headers": headers, "webhook_secret": secret})
