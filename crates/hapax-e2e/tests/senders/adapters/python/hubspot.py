import json
import time

from hubspot.utils.signature import Signature

LIBRARY = "hubspot-api-client"


def sign(event):
    body = json.dumps([{"eventId": int(event.id), "subscriptionId": 1, "objectId": 2, "subscriptionType": "contact.creation"}])
    timestamp = str(int(time.time() * 1000))
    return {
        "Content-Type": "application/json",
        "X-HubSpot-Request-Timestamp": timestamp,
        "X-HubSpot-Signature-v3": Signature.get_signature(event.secret, body, "v3", event.url, "POST", timestamp),
    }, body


def verify(request, secret):
    return Signature.is_valid(
        signature=request.headers["x-hubspot-signature-v3"],
        client_secret=secret,
        request_body=request.body.decode(),
        http_uri=request.url,
        signature_version="v3",
        timestamp=request.headers["x-hubspot-request-timestamp"],
    )
