import json
import time
from types import SimpleNamespace

from paddle_billing.Notifications import Secret, Verifier
from paddle_billing.Notifications.PaddleSignature import PaddleSignature

LIBRARY = "paddle-python-sdk"


def sign(event):
    body = json.dumps({"event_id": event.id, "event_type": "transaction.paid", "data": {"id": "txn_1"}})
    timestamp = int(time.time())
    signature = PaddleSignature.calculate_hmac(event.secret, f"{timestamp}:{body}".encode()).hexdigest()
    return {"Content-Type": "application/json", "Paddle-Signature": f"ts={timestamp};h1={signature}"}, body


def verify(request, secret):
    received = SimpleNamespace(body=request.body, headers={"Paddle-Signature": request.headers["paddle-signature"]})
    return Verifier().verify(received, Secret(secret))
