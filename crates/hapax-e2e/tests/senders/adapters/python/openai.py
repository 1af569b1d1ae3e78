import json
from datetime import datetime, timezone

from openai import OpenAI
from standardwebhooks import Webhook

LIBRARY = "openai"
SIGNER = "standardwebhooks"


def sign(event):
    body = json.dumps({"object": "event", "id": "evt_1", "type": "response.completed", "created_at": 1, "data": {"id": "resp_1"}})
    now = datetime.now(timezone.utc)
    return {
        "Content-Type": "application/json",
        "webhook-id": event.id,
        "webhook-timestamp": int(now.timestamp()),
        "webhook-signature": Webhook(event.secret).sign(event.id, now, body),
    }, body


def verify(request, secret):
    client = OpenAI(api_key="none", webhook_secret=secret)
    return client.webhooks.unwrap(request.body, request.headers).type == "response.completed"
