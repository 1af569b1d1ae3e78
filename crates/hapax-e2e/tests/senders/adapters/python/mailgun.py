import hashlib
import hmac
import json
import time

from mailgun.security import SecurityGuard

LIBRARY = "mailgun"
# Only the time and the token are signed.
SIGNED = r'(?<="token":")\w+'


def sign(event):
    timestamp, token = str(int(time.time())), f"token{event.id}"
    signature = hmac.new(event.secret.encode(), (timestamp + token).encode(), hashlib.sha256).hexdigest()
    block = {"timestamp": timestamp, "token": token, "signature": signature}
    body = {"signature": block, "event-data": {"id": event.id, "event": "delivered"}}
    return {"Content-Type": "application/json"}, json.dumps(body, separators=(",", ":"))


def verify(request, secret):
    block = json.loads(request.body)["signature"]
    return SecurityGuard.verify_webhook(secret, block["token"], block["timestamp"], block["signature"])
