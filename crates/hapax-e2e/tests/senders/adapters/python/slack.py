import json
import time

from slack_sdk.signature import SignatureVerifier

LIBRARY = "slack-sdk"


def sign(event):
    body = json.dumps({"type": "event_callback", "event_id": event.id, "event": {"type": "app_mention"}})
    timestamp = str(int(time.time()))
    signature = SignatureVerifier(event.secret).generate_signature(timestamp=timestamp, body=body)
    return {"Content-Type": "application/json", "X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": signature}, body


def verify(request, secret):
    return SignatureVerifier(secret).is_valid_request(request.body, request.headers)
