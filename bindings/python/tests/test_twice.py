"""The test helper: right handlers pass, flawed ones fail with a picture. It delivers every event at least twice."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flask
import pytest
from fastapi import FastAPI, Request, Response
from shop import SECRET, STRIPE, Shop, book, delivery, is_known, remember

import hapax_webhooks as hapax
from hapax_webhooks.testing import PLANS, Fault, twice

BILLING = hapax.Inbox("billing")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples/handlers/fastapi"


def verified(raw: bytes, headers: Any) -> hapax.Event | None:
    received = STRIPE.receive("POST", "", headers, raw)
    return None if received.events is None else received.events[0]


def decorated(shop: Shop) -> FastAPI:
    app = FastAPI()

    @app.post("/webhooks/stripe")
    @hapax.fastapi.webhook(STRIPE, BILLING, session=shop.session)
    def paid(event: hapax.Event, connection: Any) -> None:
        book(connection, event.id, event.body["data"]["object"]["amount"])

    return app


def test_a_decorated_route_passes_every_plan(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    report = twice(decorated(shop), delivery(), effects=shop.effects).report
    assert report.plans == tuple((plan, None) for plan in PLANS)
    assert report.path == "/webhooks/stripe"


async def in_a_loop(shop: Shop) -> None:
    await twice(decorated(shop), delivery(), effects=shop.effects)


def test_it_is_awaited_inside_an_event_loop(tmp_path: Path) -> None:
    import asyncio

    asyncio.run(in_a_loop(Shop(tmp_path / "shop.db")))


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Loads one of the guides' handlers, whose bank answers quickly."""
    database = tmp_path / "shop.db"
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("DATABASE", str(database))
    monkeypatch.setenv("BANK_TAKES_MS", "20")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    kept = sys.modules.pop("shop")

    def load(name: str) -> tuple[FastAPI, Any]:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        import sqlite3

        def effects() -> tuple[int, int]:
            connection = sqlite3.connect(database, timeout=10)
            try:
                found: tuple[int, int] = connection.execute(
                    "select (select count(*) from payments), (select balance from account)"
                ).fetchone()
                return found
            finally:
                connection.close()

        return module.app, effects

    yield load
    sys.modules["shop"] = kept


def test_the_right_example_passes(example: Any) -> None:
    app, effects = example("right")
    assert twice(app, delivery(), effects=effects).report.plans == tuple((plan, None) for plan in PLANS)


def test_check_then_act_fails_when_duplicates_overlap(example: Any) -> None:
    app, effects = example("check_then_act")
    with pytest.raises(Fault) as caught:
        twice(app, delivery(), effects=effects)
    picture = str(caught.value)
    assert picture.startswith("concurrent: the event took effect more than once")
    assert "8 of 8 at once" in picture and "One delivery changes: 0 +1, 1 +2000" in picture
    assert "not one atomic step" in picture and "unique constraint" in picture


def test_insert_then_work_fails_when_it_crashes(example: Any) -> None:
    app, effects = example("insert_then_work")
    with pytest.raises(Fault) as caught:
        twice(app, delivery(), effects=effects)
    picture = str(caught.value)
    assert picture.startswith("crash: the event was lost, in whole or in part: altogether nothing")
    assert "crashed at " in picture and "redelivery 1" in picture


def flask_app(shop: Shop, handle: Any) -> flask.Flask:
    app = flask.Flask("shop")

    @app.post("/webhooks")
    def webhook() -> Any:
        event = verified(flask.request.get_data(), list(flask.request.headers.items()))
        return ("", 401) if event is None else handle(shop, event)

    return app


def right(shop: Shop, event: hapax.Event) -> str:
    with shop.transaction() as connection:
        if remember(connection, event.id):
            book(connection, event.id, 2000)
    return "ok"


def check_then_act(shop: Shop, event: hapax.Event) -> str:
    with shop.transaction() as connection:
        known = is_known(connection, event.id)
    if not known:
        with shop.transaction() as connection:
            book(connection, event.id, 2000)
            connection.execute("insert or ignore into processed values (?)", (event.id,))
    return "ok"


def insert_then_work(shop: Shop, event: hapax.Event) -> str:
    with shop.transaction() as connection:
        if not remember(connection, event.id):
            return "known"
    with shop.transaction() as connection:
        book(connection, event.id, 2000)
    return "ok"


def never_remembers(shop: Shop, event: hapax.Event) -> str:
    with shop.transaction() as connection:
        book(connection, event.id, 2000)
    return "ok"


def refuses_duplicates(shop: Shop, event: hapax.Event) -> Any:
    with shop.transaction() as connection:
        if not remember(connection, event.id):
            return "known", 409
        book(connection, event.id, 2000)
    return "ok"


def test_a_right_flask_view_passes(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    assert twice(flask_app(shop, right), delivery(), effects=shop.effects).report.path == "/webhooks"


@pytest.mark.parametrize(
    ("handle", "fault"),
    [
        (check_then_act, "concurrent: the event took effect more than once"),
        (insert_then_work, "crash: the event was lost"),
        (never_remembers, "again: a duplicate changed something"),
        (refuses_duplicates, "again: a duplicate was answered with 409"),
    ],
)
def test_flawed_flask_views_fail(handle: Any, fault: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    with pytest.raises(Fault, match=fault):
        twice(flask_app(shop, handle), delivery(), effects=shop.effects)


def unsigned(shop: Shop, raw: bytes) -> str:
    import json

    with shop.transaction() as connection:
        if remember(connection, json.loads(raw)["id"]):
            book(connection, "any", 2000)
    return "ok"


def test_a_view_that_does_not_verify_fails(tmp_path: Path) -> None:
    shop, app = Shop(tmp_path / "shop.db"), flask.Flask("shop")
    app.post("/webhooks", endpoint="webhook")(lambda: unsigned(shop, flask.request.get_data()))
    with pytest.raises(Fault, match="tampered: a forged delivery was accepted"):
        twice(app, delivery(), effects=shop.effects)


def test_a_handler_that_relies_on_order_fails(tmp_path: Path) -> None:
    shop, app = Shop(tmp_path / "shop.db"), FastAPI()

    @app.post("/webhooks")
    async def webhook(request: Request) -> Response:
        event = verified(await request.body(), [(k, v) for k, v in request.headers.items()])
        if event is None:
            return Response(status_code=401)
        with shop.transaction() as connection:
            if remember(connection, event.id):
                book(connection, event.id, 1)
                # What the last event says wins, whichever was sent last.
                amount = 100 if event.type == "invoice.paid" else 0
                connection.execute("update account set balance = ?", (amount,))
        return Response()

    pair = [delivery(), STRIPE.sample("invoice.voided", body={"id": "evt_2", "type": "invoice.voided"})]
    with pytest.raises(Fault, match="out-of-order: in another order the events have another effect"):
        twice(app, pair, effects=shop.effects, plans=["out-of-order"])


def test_effects_that_see_nothing_are_told(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    with pytest.raises(Fault, match="a delivery changed nothing that `effects` shows"):
        twice(decorated(shop), delivery(), effects=lambda: 0)


def test_a_wrong_secret_is_told(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    other = hapax.Source.provider("stripe", ["whsec_other"]).sample("invoice.paid")
    with pytest.raises(Fault, match="a delivery was answered with 401"):
        twice(decorated(shop), other, effects=shop.effects)


def test_rows_are_compared_by_their_number(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")

    def effects() -> list[Any]:
        connection = shop.connect()
        try:
            return connection.execute("select event_id, amount from payments").fetchall()
        finally:
            connection.close()

    twice(decorated(shop), delivery(), effects=effects)
    with pytest.raises(Fault, match=r"\('.*', 2000\)"):
        twice(flask_app(shop, never_remembers), delivery(), effects=effects)


def test_mistakes_are_told(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    app = decorated(shop)
    with pytest.raises(hapax.SetupError, match="no plan is named sideways"):
        twice(app, delivery(), effects=shop.effects, plans=["sideways"])
    with pytest.raises(hapax.SetupError, match="must be a function"):
        twice(app, delivery(), effects=3)  # type: ignore[arg-type]
    with pytest.raises(hapax.SetupError, match="pass a delivery"):
        twice(app, [], effects=shop.effects)
    app.post("/other")(lambda: None)
    app.post("/third")(lambda: None)
    other = hapax.Source.provider("github", ["s"]).sample("push")
    with pytest.raises(hapax.SetupError, match="pass path="):
        twice(app, other, effects=shop.effects)


def test_the_fixture_runs_without_an_import(pytester: pytest.Pytester, tmp_path: Path) -> None:
    folder = Path(__file__).parent
    pytester.makeconftest(f"import sys; sys.path.insert(0, {str(folder)!r})")
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_imported_before_the_fixture_is_used():
            assert "hapax_webhooks._native" not in sys.modules

        def test_the_event_takes_effect_once(hapax_twice, tmp_path):
            from shop import Shop, delivery
            from test_twice import decorated

            shop = Shop(tmp_path / "shop.db")
            hapax_twice(decorated(shop), delivery(), effects=shop.effects)

        def test_a_flaw_is_drawn(hapax_twice, tmp_path):
            from shop import Shop, delivery
            from test_twice import flask_app, never_remembers

            shop = Shop(tmp_path / "shop.db")
            hapax_twice(flask_app(shop, never_remembers), delivery(), effects=shop.effects)
        """
    )
    environment = {"PYTHONPATH": os.pathsep.join([str(folder.parent), str(folder)])}
    for name, value in environment.items():
        pytester._monkeypatch.setenv(name, value)
    plugins = [] if _is_installed() else ["-p", "hapax_webhooks.pytest_plugin"]
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", *plugins)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*again: a duplicate changed something*", "*payments +1, balance +2000*"])


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(point.value == "hapax_webhooks.pytest_plugin" for point in entry_points(group="pytest11"))
