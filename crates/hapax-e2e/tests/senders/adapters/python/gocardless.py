import hashlib
import hmac
import json

from gocardless_pro import webhooks

LIBRARY = "gocardless-pro"


def sign(event):
    body = json.dumps({"events": [{"id": event.id, "resource_type": "payments", "action": "paid_out", "links": {"payment": "PM1"}}]})
    signature = hmac.new(event.secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "Webhook-Signature": signature}, body


def verify(request, secret):
    webhooks.parse(request.body.decode(), secret, request.headers["webhook-signature"])
