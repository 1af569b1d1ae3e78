"""Routes of FastAPI and Starlette. Every event is delivered twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import psycopg_pool
import pytest
import sqlalchemy
from databases import Postgres, number
from deliver import deliver, words
from fastapi import Depends, FastAPI, Form, HTTPException, Request, Response
from shop import STRIPE, Shop, book, delivery
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from starlette.applications import Starlette
from starlette.routing import Route

import hapax_webhooks as hapax
from hapax_webhooks.testing import PLANS, Fault, twice

BILLING = hapax.Inbox("billing", wait=timedelta(milliseconds=50))
PATH = "/webhooks/stripe"
ONCE = [(200, "accepted"), (200, "duplicate")]


def account(database: Postgres) -> None:
    database.rows("create table account (balance integer not null)")
    database.rows("insert into account values (0)")


def balance(database: Postgres) -> int:
    return number(database, "select balance from account")


def asyncpg_app(database: Postgres, handler: Callable[..., Any], **options: Any) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with asyncpg.create_pool(database.url, min_size=1, max_size=8) as pool:
            await hapax.create_tables(pool)
            app.state.pool = pool
            yield

    async def get_pool(request: Request) -> Any:
        return request.app.state.pool

    app = FastAPI(lifespan=lifespan)
    app.post(PATH)(hapax.fastapi.webhook(STRIPE, BILLING, session=get_pool)(handler))
    return app


async def add(event: hapax.Event, connection: Any) -> None:
    assert event.body["data"]["object"]["amount"] == 2000
    await connection.execute("update account set balance = balance + 1")


def test_asyncpg_pool(postgres: Postgres) -> None:
    account(postgres)
    app, event = asyncpg_app(postgres, add), delivery().fresh()
    other = STRIPE.sample("invoice.paid", event_id=event.event_id, body={**event_body(event), "livemode": True})
    answers = asyncio.run(deliver(app, PATH, event, event, other))
    assert words(answers) == [*ONCE, (200, "conflict")]
    assert balance(postgres) == 1


def event_body(event: hapax.Delivery) -> dict[str, Any]:
    import json

    body: dict[str, Any] = json.loads(event.body)
    return body


def test_a_handler_may_nest_transactions_and_stage_calls(postgres: Postgres) -> None:
    account(postgres)

    async def handler(event: hapax.Event, connection: Any) -> None:
        await add(event, connection)
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with connection.transaction():
                await connection.execute("select 1 / 0")
        await hapax.outbox.stage(connection, hapax.Call.http("https://mail.example.com/send", json_body={"a": 1}))

    event = delivery().fresh()
    answers = asyncio.run(deliver(asyncpg_app(postgres, handler), PATH, event, event))
    assert words(answers) == ONCE
    staged = postgres.rows("select consumer, scope, event_id, headers from hapax_outbox")
    assert staged == [("billing", "stripe", event.event_id, {"content-type": "application/json"})]
    assert balance(postgres) == 1


def test_sqlalchemy_sessions_commit_before_the_response(postgres: Postgres) -> None:
    account(postgres)
    engine = create_async_engine(postgres.url.replace("postgresql:", "postgresql+asyncpg:"))
    maker = async_sessionmaker(engine)
    seen: list[int] = []

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await hapax.create_tables(engine)
        yield
        await engine.dispose()

    async def get_session() -> AsyncIterator[AsyncSession]:
        async with maker() as session:
            yield session

    app = FastAPI(lifespan=lifespan)

    @app.middleware("http")
    async def look(request: Request, following: Any) -> Response:
        response: Response = await following(request)
        seen.append(await asyncio.to_thread(balance, postgres))
        return response

    @app.post(PATH)
    @hapax.fastapi.webhook(STRIPE, BILLING, session=get_session)
    async def paid(event: hapax.Event, session: AsyncSession) -> None:
        await session.execute(sqlalchemy.text("update account set balance = balance + 1"))

    event = delivery().fresh()
    assert words(asyncio.run(deliver(app, PATH, event, event))) == ONCE
    assert seen == [1, 1], "the work is committed when the response starts"


def test_a_session_that_has_begun_is_joined(postgres: Postgres) -> None:
    account(postgres)
    engine = create_async_engine(postgres.url.replace("postgresql:", "postgresql+asyncpg:"))
    maker = async_sessionmaker(engine)

    async def get_session() -> AsyncIterator[AsyncSession]:
        async with maker() as session, session.begin():
            await session.execute(sqlalchemy.text("select 1"))
            yield session

    async def run() -> None:
        await hapax.create_tables(maker)
        app = FastAPI()

        @app.post(PATH)
        @hapax.fastapi.webhook(STRIPE, BILLING, session=get_session)
        async def paid(event: hapax.Event, session: AsyncSession) -> None:
            await session.execute(sqlalchemy.text("update account set balance = balance + 1"))

        event = delivery().fresh()
        assert words(await deliver(app, PATH, event, event)) == ONCE
        await engine.dispose()

    asyncio.run(run())
    assert balance(postgres) == 1


def test_psycopg_pool(postgres: Postgres) -> None:
    account(postgres)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with psycopg_pool.AsyncConnectionPool(postgres.url, open=False) as pool:
            await hapax.create_tables(pool)
            app.state.pool = pool
            yield

    def get_pool(request: Request) -> Any:
        return request.app.state.pool

    app = FastAPI(lifespan=lifespan)
    app.post(PATH)(hapax.fastapi.webhook(STRIPE, BILLING, session=Depends(get_pool))(add))
    event = delivery().fresh()
    assert words(asyncio.run(deliver(app, PATH, event, event))) == ONCE
    assert balance(postgres) == 1


def test_a_synchronous_handler_runs_on_a_thread(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    app = FastAPI()

    @app.post("/webhooks/{tenant}")
    @hapax.fastapi.webhook(STRIPE, BILLING, session=shop.session)
    def paid(event: hapax.Event, connection: sqlite3.Connection, tenant: str, verbose: bool = False) -> dict[str, Any]:
        book(connection, event.id, event.body["data"]["object"]["amount"])
        return {"tenant": tenant, "verbose": verbose}

    event = delivery().fresh()
    answers = asyncio.run(deliver(app, "/webhooks/acme?verbose=1", event, event))
    assert (answers[0].status, answers[0].body) == (200, b'{"tenant":"acme","verbose":true}')
    assert words(answers[1:]) == [(200, "duplicate")]
    assert shop.effects() == {"payments": 1, "balance": 2000}


def test_starlette_without_dependencies(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")

    @hapax.fastapi.webhook(STRIPE, BILLING, session=shop.session)
    def paid(event: hapax.Event, connection: sqlite3.Connection) -> None:
        book(connection, event.id, 2000)

    app = Starlette(routes=[Route(PATH, paid, methods=["POST"])])
    event = delivery().fresh()
    assert words(asyncio.run(deliver(app, PATH, event, event))) == ONCE
    assert shop.effects() == {"payments": 1, "balance": 2000}


async def declines(event: hapax.Event, connection: Any) -> Response:
    await add(event, connection)
    return Response("not now", 409)


async def raises_http(event: hapax.Event, connection: Any) -> None:
    await add(event, connection)
    raise HTTPException(409, "not now")


async def fails(event: hapax.Event, connection: Any) -> None:
    await add(event, connection)
    raise ValueError("secret detail")


async def swallows(event: hapax.Event, connection: Any) -> None:
    await add(event, connection)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await connection.execute("select 1 / 0")


@pytest.mark.parametrize(
    ("handler", "status", "text"),
    [
        (declines, 409, "not now"),
        (raises_http, 409, "not now"),
        (fails, 500, "handler_failed"),
        (swallows, 500, "handler_failed"),
    ],
)
def test_what_is_not_2xx_rolls_back_and_the_event_comes_again(
    handler: Any, status: int, text: str, postgres: Postgres
) -> None:
    account(postgres)
    event = delivery().fresh()
    answers = asyncio.run(deliver(asyncpg_app(postgres, handler), PATH, event, event))
    for answer in answers:
        assert answer.status == status
        assert text in answer.body.decode()
        assert "secret" not in answer.body.decode()
    assert (balance(postgres), number(postgres, "select count(*) from hapax_inbox")) == (0, 0)
    assert words(asyncio.run(deliver(asyncpg_app(postgres, add), PATH, event, event))) == ONCE
    assert balance(postgres) == 1


def test_of_many_deliveries_at_once_one_is_handled_and_the_others_wait_or_come_again(postgres: Postgres) -> None:
    account(postgres)
    app, event = asyncpg_app(postgres, add), delivery().fresh()

    async def run() -> list[Any]:
        from hapax_webhooks.testing.serve import serving

        async with serving(app, lifespan=True) as caller:
            return await caller.at_once(event, PATH, 16)

    found = words(asyncio.run(run()))
    assert found.count((200, "accepted")) == 1
    assert set(found) <= {(200, "accepted"), (200, "duplicate"), (503, "in_flight")}
    assert balance(postgres) == 1


def test_a_cancelled_request_leaves_nothing_and_the_event_comes_again(postgres: Postgres) -> None:
    account(postgres)
    begun = asyncio.Event()

    async def hangs(event: hapax.Event, connection: Any) -> None:
        await add(event, connection)
        begun.set()
        await asyncio.Event().wait()

    event = delivery().fresh()

    async def run() -> None:
        from hapax_webhooks.testing.serve import serving

        async with serving(asyncpg_app(postgres, hangs), lifespan=True) as caller:
            for _ in range(2):
                task = asyncio.ensure_future(caller.one(event, PATH))
                await begun.wait()
                begun.clear()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

    asyncio.run(run())
    assert words(asyncio.run(deliver(asyncpg_app(postgres, add), PATH, event, event))) == ONCE
    assert balance(postgres) == 1


def test_an_unreachable_database_is_answered_with_503(postgres: Postgres) -> None:
    account(postgres)
    app, event = asyncpg_app(postgres, ends_its_session), delivery().fresh()
    answers = asyncio.run(deliver(app, PATH, event, event))
    assert words(answers) == [(503, "store_unavailable")] * 2
    assert balance(postgres) == 0


async def ends_its_session(event: hapax.Event, connection: Any) -> None:
    await add(event, connection)
    with pytest.raises(asyncpg.PostgresError):
        await connection.execute("select pg_terminate_backend(pg_backend_pid())")


def test_what_is_not_signed_too_large_or_malformed_is_refused(postgres: Postgres) -> None:
    account(postgres)
    source = hapax.Source.provider("stripe", ["whsec_other"])
    app, forged = asyncpg_app(postgres, add), source.sample("invoice.paid")
    large = hapax.Delivery(
        STRIPE, "evt_large", "POST", "/", forged.headers, b" " * (STRIPE.body_limit + 1), "invoice.paid"
    )
    answers = asyncio.run(deliver(app, PATH, forged, forged, large, large))
    assert words(answers) == [(401, "signature_invalid")] * 2 + [(413, "body_too_large")] * 2
    assert balance(postgres) == 0


def test_a_form_parameter_is_named_as_the_one_that_read_the_body(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    app = FastAPI()

    @app.post(PATH)
    @hapax.fastapi.webhook(STRIPE, BILLING, session=shop.session)
    def paid(event: hapax.Event, connection: sqlite3.Connection, name: str = Form("")) -> None:
        raise AssertionError("never")

    event = delivery().fresh()
    form = hapax.Delivery(
        STRIPE,
        event.event_id,
        "POST",
        "/",
        (("content-type", "application/x-www-form-urlencoded"),),
        b"name=x",
    )
    for answer in asyncio.run(deliver(app, PATH, form, form)):
        assert isinstance(answer.error, hapax.ParsedBody)
        assert "Form" in str(answer.error) and "event.form" in str(answer.error)


def test_a_route_that_only_verifies(tmp_path: Path) -> None:
    queue: list[dict[str, Any]] = []
    app = FastAPI()

    @app.post(PATH)
    @hapax.fastapi.webhook(STRIPE)
    async def enqueue(event: hapax.Event) -> None:
        queue.append(event.to_dict())

    event = delivery().fresh()
    assert words(asyncio.run(deliver(app, PATH, event, event))) == [(200, "accepted")] * 2
    assert [hapax.Event.from_dict(message).id for message in queue] == [event.event_id] * 2


def test_mistakes_are_told_where_they_are_made(postgres: Postgres, tmp_path: Path) -> None:
    with pytest.raises(hapax.SetupError, match="session="):
        hapax.fastapi.webhook(STRIPE, BILLING)
    with pytest.raises(hapax.SetupError, match="must be a Source"):
        hapax.fastapi.webhook("stripe", BILLING, session=lambda: None)  # type: ignore[arg-type]
    with pytest.raises(hapax.SetupError, match="must take the event"):
        hapax.fastapi.webhook(STRIPE)(lambda: None)
    shop = Shop(tmp_path / "shop.db")
    app = FastAPI()
    app.post(PATH)(hapax.fastapi.webhook(STRIPE, BILLING, session=shop.session)(add))
    event = delivery().fresh()
    for answer in asyncio.run(deliver(app, PATH, event, event)):
        assert isinstance(answer.error, hapax.WrongTransaction)
        assert "plain `def`" in str(answer.error)
    assert shop.effects() == {"payments": 0, "balance": 0}


def test_behind_hapax_the_claim_is_on_the_idempotency_key(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    gateway = hapax.Source.hapax(["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="])
    app, seen = FastAPI(), []

    @app.post("/webhooks")
    @hapax.fastapi.webhook(gateway, BILLING, session=shop.session)
    def paid(event: hapax.Event, connection: sqlite3.Connection) -> None:
        seen.append(event.via_hapax)
        book(connection, event.id, 2000)

    sample = gateway.sample("invoice.paid")
    reported = {"hapax-source": "stripe", "hapax-event-id": "evt_1", "hapax-attempt": "2"}
    headers = tuple({**dict(sample.headers), **reported}.items())
    event = hapax.Delivery(gateway, sample.event_id, "POST", "/", headers, sample.body)
    assert words(asyncio.run(deliver(app, "/webhooks", event, event))) == ONCE
    (via,) = seen
    assert via is not None and (via.source, via.event_id, via.attempt) == ("stripe", "evt_1", 2)
    assert via.idempotency_key == sample.event_id
    assert shop.effects() == {"payments": 1, "balance": 2000}


def test_an_asynchronous_route_passes_every_plan(postgres: Postgres) -> None:
    account(postgres)
    report = twice(asyncpg_app(postgres, add), delivery(), effects=lambda: balance(postgres)).report
    assert report.plans == tuple((plan, None) for plan in PLANS)


def test_an_asynchronous_route_that_checks_first_fails(postgres: Postgres) -> None:
    account(postgres)
    postgres.rows("create table processed (event_id text)")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with asyncpg.create_pool(postgres.url, min_size=1, max_size=8) as pool:
            app.state.pool = pool
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post(PATH)
    @hapax.fastapi.webhook(STRIPE)
    async def paid(event: hapax.Event) -> None:
        async with app.state.pool.acquire() as connection, connection.transaction():
            if not await connection.fetchval("select count(*) from processed where event_id = $1", event.id):
                await connection.execute("insert into processed values ($1)", event.id)
                await add(event, connection)

    with pytest.raises(Fault, match="concurrent: the event took effect more than once"):
        twice(app, delivery(), effects=lambda: balance(postgres))


def test_a_body_that_does_not_arrive_in_time_is_answered(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hapax.fastapi, "_body_seconds_max", lambda: 0.01)
    account(postgres)
    app, sent = asyncpg_app(postgres, add), []

    async def never() -> dict[str, Any]:
        return await asyncio.get_running_loop().create_future()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        scope = {"type": "http", "method": "POST", "path": PATH, "query_string": b"", "headers": [], "app": app}
        for _ in range(2):
            await app(dict(scope), never, send)
            task = asyncio.current_task()
            assert task is not None
            assert not getattr(task, "cancelling", lambda: 0)()

    asyncio.run(run())
    assert [message["status"] for message in sent if message["type"] == "http.response.start"] == [408, 408]


def test_dependencies_are_called_as_fastapi_would_and_can_be_overridden(tmp_path: Path) -> None:
    shop, other = Shop(tmp_path / "shop.db"), Shop(tmp_path / "other.db")

    async def plain() -> sqlite3.Connection:
        return shop.connect()

    async def with_request(request: Request) -> sqlite3.Connection:
        assert request.url.path == PATH
        return shop.connect()

    async def with_parameter(tenant: str = "none") -> sqlite3.Connection:
        assert tenant == "none"
        return shop.connect()

    def paid(event: hapax.Event, connection: sqlite3.Connection) -> None:
        book(connection, event.id, 2000)

    for number_, session in enumerate((plain, with_request, with_parameter, shop.session), start=1):
        app = FastAPI()
        app.post(PATH)(hapax.fastapi.webhook(STRIPE, BILLING, session=session)(paid))
        event = delivery().fresh()
        assert words(asyncio.run(deliver(app, PATH, event, event))) == ONCE
        assert shop.effects()["payments"] == number_
        app.dependency_overrides[session] = other.session
        assert words(asyncio.run(deliver(app, PATH, event, event))) == ONCE
        assert (shop.effects()["payments"], other.effects()["payments"]) == (number_, number_)
