"""Duplicates in every way that they arrive, and forged requests: each event is booked once."""

import pytest
from hapax_webhooks.testing import twice
from shop.models import Payment
from shop.views import source
from shop.wsgi import application


# Deliveries at the same moment need transactions of their own, so the test must not be one itself.
@pytest.mark.django_db(transaction=True)
def test_a_payment_is_booked_once() -> None:
    twice(application, source().sample("payment_intent.succeeded"), effects=Payment.objects.count)
