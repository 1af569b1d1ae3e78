import base64
import hashlib
import hmac
import json

from quickbooks import QuickBooks

LIBRARY = "python-quickbooks"


def sign(event):
    body = json.dumps([{"specversion": "1.0", "id": event.id, "source": "intuit.sample", "type": "qbo.customer.created.v1"}])
    signature = hmac.new(event.secret.encode(), body.encode(), hashlib.sha256).digest()
    return {"Content-Type": "application/json", "intuit-signature": base64.b64encode(signature).decode()}, body


def verify(request, secret):
    client = QuickBooks()
    return client.validate_webhook_signature(request.body.decode(), request.headers["intuit-signature"], secret)
