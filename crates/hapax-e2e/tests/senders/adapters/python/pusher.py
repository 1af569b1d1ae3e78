import hashlib
import hmac
import json
import time

from pusher import Pusher

LIBRARY = "pusher"


def sign(event):
    body = json.dumps({"time_ms": int(time.time() * 1000), "events": [{"name": "channel_occupied", "channel": event.id}]})
    signature = hmac.new(event.secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "X-Pusher-Key": "sample", "X-Pusher-Signature": signature}, body


def verify(request, secret):
    client = Pusher(app_id="1", key="sample", secret=secret)
    key, signature = request.headers["x-pusher-key"], request.headers["x-pusher-signature"]
    return client.validate_webhook(key, signature, request.body.decode()) is not None
