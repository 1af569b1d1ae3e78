import json

from mollie.utils.webhooks.signature_validator import SignatureValidator

LIBRARY = "mollie-api-py"


def sign(event):
    body = json.dumps({"resource": "event", "id": event.id, "type": "payment-link.paid", "entityId": "pl_1"})
    signature = "sha256=" + SignatureValidator.create_signature(body, event.secret)
    return {"Content-Type": "application/json", "X-Mollie-Signature": signature}, body


def verify(request, secret):
    return SignatureValidator.validate(request.body.decode(), secret, request.headers["x-mollie-signature"])
