import base64
import hashlib
import hmac
import json

from square.utils.webhooks_helper import verify_signature

LIBRARY = "squareup"


def sign(event):
    body = json.dumps({"merchant_id": "M1", "type": "payment.updated", "event_id": event.id, "data": {}})
    signature = hmac.new(event.secret.encode(), (event.url + body).encode(), hashlib.sha256).digest()
    return {"Content-Type": "application/json", "X-Square-HmacSha256-Signature": base64.b64encode(signature).decode()}, body


def verify(request, secret):
    return verify_signature(
        request_body=request.body.decode(),
        signature_header=request.headers["x-square-hmacsha256-signature"],
        signature_key=secret,
        notification_url=request.url,
    )
