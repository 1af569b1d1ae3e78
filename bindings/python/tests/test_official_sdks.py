"""The providers' own libraries and ours agree: each accepts what the other signs, and refuses what was changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from urllib.parse import parse_qsl, urlencode

import pytest
import standardwebhooks
import stripe
import svix.webhooks
from twilio.request_validator import RequestValidator

from hapax_webhooks import Source

URL = "https://hooks.example.com/in?tenant=1"
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SECRETS = {
    "stripe": "whsec_test",
    "svix": WHSEC,
    "standard-webhooks": WHSEC,
    "twilio": "0123456789abcdef0123456789abcdef",
}
EVENT = json.dumps(
    {"id": "evt_1", "object": "event", "type": "invoice.paid", "data": {"note": "Zoë ♥ 😀"}}, ensure_ascii=False
)

Headers = dict[str, str]


def stripe_signs(secret: str) -> tuple[Headers, bytes]:
    now = int(time.time())
    signature = stripe.WebhookSignature._compute_signature(f"{now}.{EVENT}", secret)
    return {"Stripe-Signature": f"t={now},v1={signature}"}, EVENT.encode()


def stripe_accepts(secret: str, headers: Headers, body: bytes) -> None:
    stripe.Webhook.construct_event(body, headers["stripe-signature"], secret)


def svix_signs(secret: str) -> tuple[Headers, bytes]:
    now = datetime.now(timezone.utc)
    signature = svix.webhooks.Webhook(secret).sign("msg_1", now, EVENT)
    seconds = str(int(now.timestamp()))
    return {"svix-id": "msg_1", "svix-timestamp": seconds, "svix-signature": signature}, EVENT.encode()


def svix_accepts(secret: str, headers: Headers, body: bytes) -> None:
    svix.webhooks.Webhook(secret).verify(body, headers)


def standard_webhooks_signs(secret: str) -> tuple[Headers, bytes]:
    now = datetime.now(timezone.utc)
    signature = standardwebhooks.Webhook(secret).sign("msg_1", now, EVENT)
    seconds = str(int(now.timestamp()))
    return {"webhook-id": "msg_1", "webhook-timestamp": seconds, "webhook-signature": signature}, EVENT.encode()


def standard_webhooks_accepts(secret: str, headers: Headers, body: bytes) -> None:
    standardwebhooks.Webhook(secret).verify(body, headers)


def twilio_signs(secret: str) -> tuple[Headers, bytes]:
    form = {"MessageSid": "SM1", "MessageStatus": "delivered", "Body": "Zoë ♥ 😀"}
    signature = RequestValidator(secret).compute_signature(URL, form)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": signature}
    return {**headers, "I-Twilio-Idempotency-Token": "token-1"}, urlencode(form).encode()


def twilio_accepts(secret: str, headers: Headers, body: bytes) -> None:
    form = dict(parse_qsl(body.decode(), keep_blank_values=True))
    if not RequestValidator(secret).validate(URL, form, headers["x-twilio-signature"]):
        raise ValueError("refused")


SDKS: dict[str, tuple[Callable[[str], tuple[Headers, bytes]], Callable[[str, Headers, bytes], None]]] = {
    "stripe": (stripe_signs, stripe_accepts),
    "svix": (svix_signs, svix_accepts),
    "standard-webhooks": (standard_webhooks_signs, standard_webhooks_accepts),
    "twilio": (twilio_signs, twilio_accepts),
}


def source(provider: str) -> Source:
    return Source.provider(provider, [SECRETS[provider]], public_url=URL)


def changed(body: bytes) -> bytes:
    """The same body with one letter changed."""
    at = body.index(b"e")
    return body[:at] + b"E" + body[at + 1 :]


@pytest.mark.parametrize("provider", SDKS)
def test_we_accept_what_the_provider_signs(provider: str) -> None:
    sign, _ = SDKS[provider]
    headers, body = sign(SECRETS[provider])
    listed = [(name, value.encode()) for name, value in headers.items()]
    ids = set()
    for _ in range(2):
        received = source(provider).receive("POST", "tenant=1", listed, body)
        assert received.error is None and received.events is not None, received.error
        ids.update(event.id for event in received.events)
    assert len(ids) == 1
    refused = source(provider).receive("POST", "tenant=1", listed, changed(body))
    assert refused.error is not None and refused.error.code == "signature_invalid"


@pytest.mark.parametrize("provider", SDKS)
def test_the_provider_accepts_what_we_sign(provider: str) -> None:
    _, accept = SDKS[provider]
    made = source(provider).sample()
    headers = {name.lower(): value for name, value in made.headers}
    for _ in range(2):
        accept(SECRETS[provider], headers, made.body)
    # Each library has an error of its own.
    with pytest.raises(Exception):  # noqa: B017, PT011
        accept(SECRETS[provider], headers, changed(made.body))
