import base64
import hashlib
import hmac
import json
from datetime import datetime, timezone

from box_sdk_gen.managers.webhooks import WebhooksManager

LIBRARY = "boxsdk"


def sign(event):
    body = json.dumps({"type": "webhook_event", "id": event.id, "trigger": "FILE.UPLOADED"}).encode()
    time = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    signature = hmac.new(event.secret.encode(), body + time.encode(), hashlib.sha256).digest()
    headers = {
        "Content-Type": "application/json",
        "BOX-SIGNATURE-VERSION": "1",
        "BOX-SIGNATURE-ALGORITHM": "HmacSHA256",
        "BOX-SIGNATURE-PRIMARY": base64.b64encode(signature).decode(),
        "BOX-DELIVERY-TIMESTAMP": time,
    }
    return headers, body


def verify(request, secret):
    return WebhooksManager.validate_message(request.body.decode(), request.headers, secret)
