import asyncio
import hashlib
import hmac
import json
from datetime import datetime, timezone
from types import SimpleNamespace

from multidict import CIMultiDict
from twitchAPI.eventsub.webhook import EventSubWebhook

LIBRARY = "twitchAPI"


def sign(event):
    body = json.dumps({"subscription": {"id": "1", "type": "channel.follow", "version": "2"}, "event": {"user_id": "1"}})
    timestamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    signature = hmac.new(event.secret.encode(), (event.id + timestamp + body).encode(), hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "Twitch-Eventsub-Message-Id": event.id,
        "Twitch-Eventsub-Message-Timestamp": timestamp,
        "Twitch-Eventsub-Message-Type": "notification",
        "Twitch-Eventsub-Subscription-Type": "channel.follow",
        "Twitch-Eventsub-Message-Signature": f"sha256={signature}",
    }, body


def verify(request, secret):
    async def text():
        return request.body.decode()

    received = SimpleNamespace(headers=CIMultiDict(request.headers), text=text)
    # The library has no public function for it, and its server needs a certificate and an account.
    return asyncio.run(EventSubWebhook._verify_signature(SimpleNamespace(secret=secret), received))
