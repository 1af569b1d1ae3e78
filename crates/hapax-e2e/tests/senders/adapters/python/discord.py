import json
import time

from discord_interactions import verify_key
from nacl.signing import SigningKey

LIBRARY = "discord-interactions"


def sign(event):
    body = json.dumps({"id": event.id, "application_id": "1", "type": 2, "version": 1, "data": {"name": "sample"}}).encode()
    timestamp = str(int(time.time()))
    signature = SigningKey(bytes.fromhex(event.secret)).sign(timestamp.encode() + body).signature
    return {
        "Content-Type": "application/json",
        "X-Signature-Ed25519": signature.hex(),
        "X-Signature-Timestamp": timestamp,
    }, body


def verify(request, secret):
    headers = request.headers
    int(json.loads(request.body)["id"])  # A snowflake.
    return verify_key(request.body, headers["x-signature-ed25519"], headers["x-signature-timestamp"], secret)
