"""Metrics, traces, Celery, Alembic. Every event is delivered twice."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path
from typing import Any

import alembic.operations
import alembic.runtime.migration
import pytest
import sqlalchemy
from celery import Celery
from celery.exceptions import Retry
from databases import Postgres
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from shop import Shop, book

import hapax_webhooks as hapax

EVENT = hapax.Event("stripe", "evt_1", "invoice.paid", raw=b"{}")


@pytest.fixture(scope="module")
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


def test_each_event_is_counted_and_traced(spans: InMemorySpanExporter) -> None:
    handled: list[hapax.Handled] = []

    def count(one: hapax.Handled) -> None:
        handled.append(one)
        raise RuntimeError("a metric that fails must not fail the event")

    inbox = hapax.Inbox("billing", on_handled=count)
    connection = sqlite3.connect(":memory:")
    hapax.create_tables(connection)

    def fails(_tx: sqlite3.Connection) -> None:
        raise ValueError("told to fail")

    with pytest.raises(ValueError, match="told to fail"):
        inbox.run(connection, EVENT, fails)
    for _ in range(2):
        inbox.run(connection, EVENT, lambda tx: None)
    words = ["failed", "processed", "duplicate"]
    assert [(one.source, one.event_id, one.type, one.outcome) for one in handled] == [
        ("stripe", "evt_1", "invoice.paid", word) for word in words
    ]
    assert all(one.seconds >= 0 for one in handled)
    found = spans.get_finished_spans()
    assert [span.name for span in found] == ["hapax.handle"] * 3
    assert [dict(span.attributes or {}) for span in found] == [
        {
            "hapax.source": "stripe",
            "hapax.event_id": "evt_1",
            "hapax.event_type": "invoice.paid",
            "hapax.outcome": word,
        }
        for word in words
    ]
    assert [event.name for event in found[0].events] == ["exception"]


def test_a_celery_task_applies_an_event_once(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    app = Celery("shop", broker="memory://", backend="cache+memory://")
    app.conf.task_always_eager = True

    @hapax.celery.task(app, hapax.Inbox("billing"), session=shop.session, queue="billing")
    def paid(event: hapax.Event, connection: sqlite3.Connection) -> None:
        assert (event.type, event.raw) == ("invoice.paid", b"{}")
        book(connection, event.id, 2000)

    assert (paid.acks_late, paid.reject_on_worker_lost, paid.queue) == (True, True, "billing")
    assert paid.name.endswith(".paid")
    outcomes = [paid.delay(EVENT.to_dict()).get() for _ in range(2)]
    other = hapax.Event("stripe", "evt_1", raw=b'{"other":1}')
    outcomes.append(paid.delay(other.to_dict()).get())
    assert outcomes == ["processed", "duplicate", "conflict"]
    assert shop.effects() == {"payments": 1, "balance": 2000}


def test_a_celery_task_comes_again_while_another_worker_has_the_event(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    app = Celery("shop", broker="memory://")

    def impatient() -> sqlite3.Connection:
        return sqlite3.connect(shop.path, timeout=0)

    @hapax.celery.task(app, hapax.Inbox("billing"), session=impatient)
    def paid(event: hapax.Event, connection: sqlite3.Connection) -> None:
        book(connection, event.id, 2000)

    with shop.transaction():
        for _ in range(2):
            with pytest.raises(Retry):
                paid.apply(args=(EVENT.to_dict(),), throw=True)
    assert paid.apply(args=(EVENT.to_dict(),)).get() == "processed"
    assert paid.apply(args=(EVENT.to_dict(),)).get() == "duplicate"
    assert shop.effects() == {"payments": 1, "balance": 2000}


def test_a_celery_task_that_would_lose_events_is_refused() -> None:
    app = Celery("shop")
    with pytest.raises(hapax.SetupError, match="acks_late"):
        hapax.celery.task(app, hapax.Inbox("billing"), session=None, acks_late=False)

    async def handler(event: hapax.Event) -> None: ...

    with pytest.raises(hapax.SetupError, match="make it `def`"):
        hapax.celery.task(app, hapax.Inbox("billing"), session=None)(handler)


def operations(connection: Any = None, **options: Any) -> Any:
    context = alembic.runtime.migration.MigrationContext.configure(connection, **options)
    return alembic.operations.Operations(context)


@pytest.mark.parametrize("dialect", ["postgres", "sqlite"])
def test_alembic_creates_and_drops_the_tables(dialect: str, postgres: Postgres, tmp_path: Path) -> None:
    url = (
        postgres.url.replace("postgresql:", "postgresql+psycopg:")
        if dialect == "postgres"
        else f"sqlite:///{tmp_path}/a.db"
    )
    engine = sqlalchemy.create_engine(url)
    for _ in range(2):
        with engine.begin() as connection:
            hapax.alembic.create_tables(operations(connection))
        outcomes = [hapax.Inbox("billing").run(engine, EVENT, lambda tx: None).word for _ in range(2)]
        assert outcomes == ["processed", "duplicate"]
        with engine.begin() as connection:
            hapax.alembic.drop_tables(operations(connection))
            assert not sqlalchemy.inspect(connection).get_table_names()
    engine.dispose()


def test_alembic_in_offline_mode_writes_sql() -> None:
    written = io.StringIO()
    offline = operations(dialect_name="postgresql", opts={"as_sql": True, "output_buffer": written})
    for _ in range(2):
        hapax.alembic.create_tables(offline)
    assert written.getvalue().count("CREATE TABLE IF NOT EXISTS hapax_inbox") == 2
    with pytest.raises(hapax.WrongTransaction, match="use PostgreSQL or SQLite"):
        hapax.alembic.create_tables(operations(dialect_name="mysql", opts={"as_sql": True}))
