import base64
import hashlib
import hmac
import json

from linebot.v3 import WebhookParser

LIBRARY = "line-bot-sdk"


def sign(event):
    follow = {
        "type": "follow",
        "webhookEventId": event.id,
        "deliveryContext": {"isRedelivery": False},
        "timestamp": 1767225600000,
        "source": {"type": "user", "userId": "U1"},
        "replyToken": "r1",
        "mode": "active",
        "follow": {"isUnblocked": False},
    }
    body = json.dumps({"destination": "U0", "events": [follow]})
    signature = hmac.new(event.secret.encode(), body.encode(), hashlib.sha256).digest()
    return {"Content-Type": "application/json", "X-Line-Signature": base64.b64encode(signature).decode()}, body


def verify(request, secret):
    (event,) = WebhookParser(secret).parse(request.body.decode(), request.headers["x-line-signature"])
    return event.type in ("follow", "message")
