import base64
import json
import time

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_private_key
from sendgrid.helpers.eventwebhook import EventWebhook

LIBRARY = "sendgrid"
SIGNATURE, TIMESTAMP = "x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp"


def sign(event):
    body = json.dumps([{"email": "ada@example.com", "event": "delivered", "sg_event_id": event.id}])
    timestamp = str(int(time.time()))
    key = load_der_private_key(base64.b64decode(event.secret), None)
    signature = key.sign((timestamp + body).encode(), ec.ECDSA(SHA256()))
    return {"Content-Type": "application/json", SIGNATURE: base64.b64encode(signature).decode(), TIMESTAMP: timestamp}, body


def verify(request, secret):
    return EventWebhook(secret).verify_signature(request.body.decode(), request.headers[SIGNATURE], request.headers[TIMESTAMP])
