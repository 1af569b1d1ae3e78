"""Views of Django, and the migration. Every event is delivered twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django_project
import pytest
from databases import Database, Postgres, Sqlite, number
from deliver import deliver, words
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.db import connections, transaction
from django.http import HttpRequest
from shop import STRIPE, delivery

import hapax_webhooks as hapax
from hapax_webhooks.testing import PLANS, Fault, twice

ONCE = [(200, "accepted"), (200, "duplicate")]
SHOP = [
    "create table processed (event_id varchar(255) primary key)",
    "create table payments (event_id varchar(255) not null, amount integer not null)",
    "create table account (balance integer not null)",
    "insert into account values (0)",
]


@pytest.fixture(params=["postgres", "sqlite"])
def database(request: Any, new_postgres: Callable[[], Postgres], tmp_path: Path) -> Iterator[Database]:
    """The project's default database, migrated."""
    found: Any = new_postgres() if request.param == "postgres" else Sqlite(tmp_path / "app.db")
    connections["default"].close()
    before = connections.databases["default"]
    connections.databases["default"] = django_project.configured(found)
    del connections["default"]
    call_command("migrate", verbosity=0)
    for sql in SHOP:
        found.rows(sql)
    yield found
    connections["default"].close()
    connections.databases["default"] = before
    del connections["default"]


def sent(path: str, *deliveries: hapax.Delivery) -> list[Any]:
    return asyncio.run(deliver(WSGIHandler(), path, *deliveries))


def payments(database: Database) -> int:
    return number(database, "select count(*) from payments")


def test_a_view_takes_effect_once(database: Database) -> None:
    event = delivery().fresh()
    assert words(sent("/webhooks/stripe", event, event)) == ONCE
    assert payments(database) == 1


def test_with_atomic_requests_the_view_commits_itself(database: Database) -> None:
    connections.databases["default"]["ATOMIC_REQUESTS"] = True
    event = delivery().fresh()
    assert words(sent("/webhooks/stripe", event, event)) == ONCE
    assert [answer.status for answer in sent("/webhooks/acme/declines", *[delivery().fresh()] * 2)] == [500] * 2
    assert payments(database) == 1


def test_failures_roll_back_and_the_event_comes_again(database: Database) -> None:
    event = delivery().fresh()
    answers = sent("/webhooks/acme/declines", event, event)
    assert [(answer.status, answer.body) for answer in answers] == [(500, b"acme")] * 2
    assert words(sent("/webhooks/fails", event, event)) == [(500, "handler_failed")] * 2
    assert payments(database) == 0
    assert words(sent("/webhooks/stripe", event, event)) == ONCE
    assert payments(database) == 1


def test_the_right_view_passes_twice_and_the_flawed_one_fails(database: Database) -> None:
    def effects() -> dict[str, int]:
        return {
            "payments": payments(database),
            "balance": number(database, "select balance from account"),
        }

    with pytest.raises(hapax.SetupError, match="/webhooks/stripe"):
        twice(WSGIHandler(), delivery(), effects=effects)
    report = twice(WSGIHandler(), delivery(), effects=effects, path="/webhooks/stripe").report
    assert report.plans == tuple((plan, None) for plan in PLANS)
    with pytest.raises(Fault, match="crash: the event was lost"):
        twice(WSGIHandler(), delivery(), effects=effects, path="/flawed")


def test_a_body_that_was_read_is_told(database: Database) -> None:
    event = delivery().fresh()
    request = HttpRequest()
    del request
    for answer in sent("/reads-first", event, event):
        assert answer.status == 500
    assert payments(database) == 0


def test_parsed_body_names_the_fix(database: Database) -> None:
    from django.test import RequestFactory
    from django_shop.views import paid

    event = delivery().fresh()
    for _ in range(2):
        headers = {name: value for name, value in event.headers if name.lower() != "content-type"}
        request = RequestFactory().post(
            "/webhooks/stripe", data=event.body, content_type="application/json", headers=headers
        )
        request.read()
        with pytest.raises(hapax.ParsedBody, match=r"request\.POST"):
            paid(request)


def test_an_outer_transaction_is_refused_with_the_fix(database: Database) -> None:
    from django.test import RequestFactory
    from django_shop.views import paid

    event = delivery().fresh()
    for _ in range(2):
        headers = {name: value for name, value in event.headers if name.lower() != "content-type"}
        request = RequestFactory().post(
            "/webhooks/stripe", data=event.body, content_type="application/json", headers=headers
        )
        with transaction.atomic(), pytest.raises(hapax.WrongTransaction, match="non_atomic_requests"):
            paid(request)
    assert payments(database) == 0


def test_an_asynchronous_handler_is_refused() -> None:
    async def handler(request: HttpRequest, event: hapax.Event) -> None: ...

    with pytest.raises(hapax.SetupError, match="no asynchronous transactions"):
        hapax.django.webhook(STRIPE, hapax.Inbox("billing"))(handler)


def test_the_migration_can_be_reversed_and_applied_again(database: Database) -> None:
    for _ in range(2):
        call_command("migrate", "hapax_webhooks", "zero", verbosity=0)
        call_command("migrate", "hapax_webhooks", verbosity=0)
    event = delivery().fresh()
    assert words(sent("/webhooks/stripe", event, event)) == ONCE
