"""Views: a right one, some that fail, and a flawed one."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from shop import STRIPE

import hapax_webhooks as hapax

BILLING = hapax.Inbox("billing")


def book(event_id: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into payments (event_id, amount) values (%s, 2000)", [event_id])
        cursor.execute("update account set balance = balance + 2000")


@hapax.django.webhook(STRIPE, BILLING)
def paid(request: HttpRequest, event: hapax.Event) -> None:
    assert json.loads(request.body) == event.body
    book(event.id)


@hapax.django.webhook(STRIPE, BILLING)
def declines(request: HttpRequest, event: hapax.Event, tenant: str) -> HttpResponse:
    book(event.id)
    return HttpResponse(tenant, status=500)


@hapax.django.webhook(STRIPE, BILLING)
def fails(request: HttpRequest, event: hapax.Event) -> None:
    book(event.id)
    raise ValueError("secret detail")


@csrf_exempt
def reads_first(request: HttpRequest) -> Any:
    """A decorator or middleware that parses the body before the signature is checked."""
    request.read()
    return paid(request)


@csrf_exempt
def flawed(request: HttpRequest) -> HttpResponse:
    """Flawed: the event is recorded in one transaction and applied in another."""
    received = STRIPE.receive("POST", "", list(request.headers.items()), request.body)
    if received.events is None:
        return HttpResponse(status=401)
    (event,) = received.events
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("insert into processed values (%s) on conflict do nothing", [event.id])
        if cursor.rowcount == 0:
            return HttpResponse("known")
    with transaction.atomic():
        book(event.id)
    return HttpResponse("ok")
