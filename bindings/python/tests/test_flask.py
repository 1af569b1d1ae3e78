"""Views of Flask. Every event is delivered twice."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import flask
import psycopg
import psycopg_pool
import pytest
import sqlalchemy
from databases import Postgres, number
from deliver import deliver, words
from shop import STRIPE, Shop, book, delivery
from sqlalchemy.orm import scoped_session, sessionmaker

import hapax_webhooks as hapax

BILLING = hapax.Inbox("billing")
PATH = "/webhooks/stripe"
ONCE = [(200, "accepted"), (200, "duplicate")]


def app_of(handler: Any, session: Any) -> flask.Flask:
    app = flask.Flask("shop")
    app.post(PATH)(hapax.flask.webhook(STRIPE, BILLING, session=session)(handler))
    return app


def sent(app: flask.Flask, *deliveries: hapax.Delivery) -> list[Any]:
    return asyncio.run(deliver(app, PATH, *deliveries))


def add(event: hapax.Event, connection: sqlite3.Connection) -> None:
    book(connection, event.id, event.body["data"]["object"]["amount"])


def test_a_view_takes_effect_once_and_its_body_can_still_be_read(tmp_path: Path) -> None:
    shop, event = Shop(tmp_path / "shop.db"), delivery().fresh()

    def paid(event: hapax.Event, connection: sqlite3.Connection) -> None:
        assert flask.request.get_json() == event.body
        add(event, connection)

    assert words(sent(app_of(paid, shop.session), event, event)) == ONCE
    assert shop.effects() == {"payments": 1, "balance": 2000}


def test_a_psycopg_pool(postgres: Postgres) -> None:
    with psycopg_pool.ConnectionPool(postgres.url, min_size=1, max_size=2) as pool:
        hapax.create_tables(pool)
        postgres.rows("create table payments (event_id text)")

        def paid(event: hapax.Event, connection: psycopg.Connection[Any]) -> None:
            connection.execute("insert into payments values (%s)", (event.id,))

        event = delivery().fresh()
        assert words(sent(app_of(paid, pool), event, event)) == ONCE
    assert number(postgres, "select count(*) from payments") == 1


def test_a_scoped_session_as_flask_sqlalchemy_has_it(tmp_path: Path) -> None:
    shop, event = Shop(tmp_path / "shop.db"), delivery().fresh()
    session = scoped_session(sessionmaker(sqlalchemy.create_engine(f"sqlite:///{shop.path}")))

    def paid(event: hapax.Event, session: Any) -> None:
        session.execute(sqlalchemy.text("insert into payments (event_id, amount) values (:id, 2000)"), {"id": event.id})

    assert words(sent(app_of(paid, session), event, event)) == ONCE
    assert shop.effects() == {"payments": 1, "balance": 0}


@pytest.mark.parametrize(("answer", "status"), [(("not now", 409), 409), (("", 302), 302)])
def test_another_status_than_2xx_rolls_back(answer: Any, status: int, tmp_path: Path) -> None:
    shop, event = Shop(tmp_path / "shop.db"), delivery().fresh()

    def declines(event: hapax.Event, connection: sqlite3.Connection) -> Any:
        add(event, connection)
        return answer

    assert [found.status for found in sent(app_of(declines, shop.session), event, event)] == [status] * 2
    assert shop.effects() == {"payments": 0, "balance": 0}
    assert words(sent(app_of(add, shop.session), event, event)) == ONCE
    assert shop.effects() == {"payments": 1, "balance": 2000}


def test_abort_and_errors_roll_back(tmp_path: Path) -> None:
    shop, event = Shop(tmp_path / "shop.db"), delivery().fresh()

    def aborts(event: hapax.Event, connection: sqlite3.Connection) -> None:
        add(event, connection)
        flask.abort(409)

    def fails(event: hapax.Event, connection: sqlite3.Connection) -> None:
        add(event, connection)
        raise ValueError("secret detail")

    assert [found.status for found in sent(app_of(aborts, shop.session), event, event)] == [409] * 2
    assert words(sent(app_of(fails, shop.session), event, event)) == [(500, "handler_failed")] * 2
    assert shop.effects() == {"payments": 0, "balance": 0}


def test_a_parsed_form_is_told(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    app = app_of(add, shop.session)
    app.testing = True

    @app.before_request
    def look() -> None:
        flask.request.form.get("name")

    form = hapax.Delivery(
        STRIPE, "evt_1", "POST", "/", (("content-type", "application/x-www-form-urlencoded"),), b"name=x"
    )
    for answer in sent(app, form, form):
        assert isinstance(answer.error, hapax.ParsedBody)
        assert "request.form" in str(answer.error) and "event.form" in str(answer.error)


def test_too_large_and_not_signed(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    forged = hapax.Source.provider("stripe", ["whsec_other"]).sample("invoice.paid")
    large = hapax.Delivery(STRIPE, "evt_1", "POST", "/", (), b" " * (STRIPE.body_limit + 1))
    found = words(sent(app_of(add, shop.session), forged, forged, large, large))
    assert found == [(401, "signature_invalid")] * 2 + [(413, "body_too_large")] * 2
    assert shop.effects() == {"payments": 0, "balance": 0}


def test_mistakes_are_told_where_they_are_made() -> None:
    async def handler(event: hapax.Event) -> None: ...

    with pytest.raises(hapax.SetupError, match="make it `def`"):
        hapax.flask.webhook(STRIPE)(handler)
    with pytest.raises(hapax.SetupError, match="session="):
        hapax.flask.webhook(STRIPE, BILLING)
