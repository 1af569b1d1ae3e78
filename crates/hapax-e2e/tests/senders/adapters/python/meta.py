import hashlib
import hmac
import json

from pywa.utils import webhook_updates_validator

LIBRARY = "pywa"


def sign(event):
    message = {"from": "1", "id": event.id, "timestamp": "1767225599", "type": "text", "text": {"body": "hello"}}
    change = {"field": "messages", "value": {"messaging_product": "whatsapp", "messages": [message]}}
    body = json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [change]}]}).encode()
    signature = "sha256=" + hmac.new(event.secret.encode(), body, hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "X-Hub-Signature-256": signature}, body


def verify(request, secret):
    return webhook_updates_validator(secret, request.body, request.headers["x-hub-signature-256"])
