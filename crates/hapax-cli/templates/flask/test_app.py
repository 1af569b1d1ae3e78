"""Duplicates in every way that they arrive, and forged requests: each event is booked once."""

from app import app, payments, source
from hapax_webhooks.testing import twice


def test_a_payment_is_booked_once() -> None:
    twice(app, source().sample("payment_intent.succeeded"), effects=payments)
