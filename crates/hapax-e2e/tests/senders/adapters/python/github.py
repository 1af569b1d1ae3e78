import hashlib
import hmac
import json

from gidgethub.sansio import Event

LIBRARY = "gidgethub"


def sign(event):
    body = json.dumps({"action": "opened", "number": 1}).encode()
    return {
        "Content-Type": "application/json",
        "X-GitHub-Delivery": event.id,
        "X-GitHub-Event": "pull_request",
        "X-Hub-Signature-256": "sha256=" + hmac.new(event.secret.encode(), body, hashlib.sha256).hexdigest(),
    }, body


def verify(request, secret):
    Event.from_http(request.headers, request.body, secret=secret)
