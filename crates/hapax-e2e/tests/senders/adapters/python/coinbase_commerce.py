import hashlib
import hmac
import json

from coinbase_commerce.webhook import Webhook

LIBRARY = "coinbase-commerce"


def sign(event):
    body = json.dumps({"id": 1, "attempt_number": 1, "event": {"id": event.id, "type": "charge:confirmed", "data": {"code": "a"}}})
    signature = hmac.new(event.secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "X-CC-Webhook-Signature": signature}, body


def verify(request, secret):
    Webhook.construct_event(request.body.decode(), request.headers["x-cc-webhook-signature"], secret)
