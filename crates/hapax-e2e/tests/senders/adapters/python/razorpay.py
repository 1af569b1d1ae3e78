import hashlib
import hmac
import json

import razorpay

LIBRARY = "razorpay"


def sign(event):
    body = json.dumps({"entity": "event", "event": "payment.captured", "payload": {}, "created_at": 1767225599})
    signature = hmac.new(event.secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "X-Razorpay-Event-Id": event.id, "X-Razorpay-Signature": signature}, body


def verify(request, secret):
    client = razorpay.Client(auth=("key", "secret"))
    return client.utility.verify_webhook_signature(request.body.decode(), request.headers["x-razorpay-signature"], secret)
