"""Bad input: every error says what happened, why, and what to do."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import psycopg_pool
import pytest
import sqlalchemy
from databases import Postgres, number
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

import hapax_webhooks as hapax

BILLING = hapax.Inbox("billing")
EVENT = hapax.Event("stripe", "evt_1", raw=b"{}")


@pytest.fixture
def tables(postgres: Postgres) -> Postgres:
    with psycopg.connect(postgres.url) as connection:
        hapax.create_tables(connection)
    return postgres


def refused(fix: str, act: Callable[[], Any], kind: type[Exception] = hapax.WrongTransaction) -> None:
    """Twice, since a first refusal must not leave anything behind."""
    for _ in range(2):
        with pytest.raises(kind) as caught:
            act()
        assert fix in str(caught.value), str(caught.value)


async def arefused(fix: str, act: Callable[[], Awaitable[Any]], kind: type[Exception] = hapax.WrongTransaction) -> None:
    for _ in range(2):
        with pytest.raises(kind) as caught:
            await act()
        assert fix in str(caught.value), str(caught.value)


def nothing(database: Postgres) -> None:
    assert number(database, "select count(*) from hapax_inbox") == 0


# Secrets and names


def test_a_secret_of_the_wrong_format_is_refused_and_not_shown() -> None:
    with pytest.raises(hapax.SetupError) as caught:
        hapax.Source.hapax(["not base64 !!"])
    assert "not base64 !!" not in str(caught.value)
    with pytest.raises(hapax.SetupError, match=r"secrets=\[secret\]"):
        hapax.Source.provider("stripe", "whsec_one_string")
    with pytest.raises(hapax.SetupError, match="secret"):
        hapax.Source.provider("stripe", [])
    with pytest.raises(hapax.SetupError, match="strype"):
        hapax.Source.provider("strype", ["whsec_x"])
    source = hapax.Source.provider("stripe", ["whsec_hidden"])
    assert "hidden" not in repr(source) + repr(source.sample())


def test_an_inbox_checks_its_durations_and_does_not_change() -> None:
    with pytest.raises(hapax.SetupError, match="timedelta"):
        hapax.Inbox("billing", wait=5)  # type: ignore[arg-type]
    with pytest.raises(hapax.SetupError, match="negative"):
        hapax.Inbox("billing", retention=timedelta(seconds=-1))
    with pytest.raises(AttributeError, match="create another one"):
        BILLING.consumer = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        EVENT.id = "other"  # type: ignore[misc]


def test_a_body_that_is_not_json_names_the_alternatives() -> None:
    event = hapax.Event("twilio", "SM1", raw=b"a=1&b=&a=2")
    with pytest.raises(hapax.Invalid, match=r"event\.form"):
        event.body  # noqa: B018
    assert event.form == {"a": ["1", "2"], "b": [""]}


def test_only_a_first_claim_is_true() -> None:
    assert [bool(claim) for claim in hapax.Claim] == [True, False, False]


# Wrong objects


def test_objects_of_other_drivers_are_refused() -> None:
    refused("pass one of psycopg 3", lambda: BILLING.claim(object(), EVENT))
    refused("pass one of psycopg 3", lambda: BILLING.run("sqlite://", EVENT, lambda tx: None))
    fake = type("connection", (), {"__module__": "psycopg2.extensions"})()
    refused("use psycopg 3", lambda: BILLING.claim(fake, EVENT))
    fake = type("Connection", (), {"__module__": "aiosqlite.core"})()
    refused("use sqlite3", lambda: hapax.create_tables(fake))


# sqlite3


def test_sqlite3() -> None:
    alone = sqlite3.connect(":memory:", isolation_level=None)
    hapax.create_tables(alone)
    refused("BEGIN IMMEDIATE", lambda: BILLING.claim(alone, EVENT))
    refused("BEGIN IMMEDIATE", lambda: hapax.outbox.stage(alone, hapax.Call.http("u")))
    alone.execute("begin immediate")
    refused("inbox.claim(connection, event)", lambda: BILLING.run(alone, EVENT, lambda tx: None))
    assert BILLING.claim(alone.cursor(), EVENT)
    assert not BILLING.claim(alone, EVENT)
    alone.execute("rollback")

    async def handler(tx: sqlite3.Connection) -> None:
        raise AssertionError("never")

    refused("plain `def`", lambda: BILLING.run(alone, EVENT, handler))
    assert alone.execute("select count(*) from hapax_inbox").fetchone() == (0,)
    closed = sqlite3.connect(":memory:")
    closed.close()
    refused("pass one that is open", lambda: BILLING.claim(closed, EVENT))
    bare = sqlite3.connect(":memory:")
    refused("create_tables", lambda: BILLING.run(bare, EVENT, lambda tx: None), hapax.MissingTable)
    refused("create_tables", lambda: BILLING.claim(bare, EVENT), hapax.MissingTable)
    refused("create_tables", lambda: hapax.purge(bare), hapax.MissingTable)


def test_sqlite3_create_tables_does_not_commit_the_callers_transaction() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("create table t (a)")
    connection.execute("begin")
    connection.execute("insert into t values (1)")
    hapax.create_tables(connection)
    assert hapax.purge(connection) == 0
    assert connection.in_transaction
    connection.execute("rollback")
    assert connection.execute("select count(*) from t").fetchone() == (0,)


if sys.version_info >= (3, 12):

    def test_sqlite3_autocommit_modes() -> None:
        true = sqlite3.connect(":memory:", autocommit=True)  # type: ignore[call-overload,unused-ignore]
        hapax.create_tables(true)
        refused("BEGIN IMMEDIATE", lambda: BILLING.claim(true, EVENT))
        false = sqlite3.connect(":memory:", autocommit=False)  # type: ignore[call-overload,unused-ignore]
        hapax.create_tables(false)
        assert BILLING.claim(false, EVENT)
        false.rollback()
        assert BILLING.claim(false, EVENT)


def test_an_escaped_savepoint_of_sqlite_does_not_commit(tmp_path: Path) -> None:
    """Without an outer BEGIN, RELEASE would commit: then a failed handler could not be rolled back."""
    connection = sqlite3.connect(tmp_path / "app.db")
    hapax.create_tables(connection)
    connection.execute("create table t (a)")

    def work(tx: sqlite3.Connection) -> None:
        tx.execute("savepoint mine")
        tx.execute("insert into t values (1)")
        tx.execute("release mine")
        raise ValueError("told to fail")

    refused("told to fail", lambda: BILLING.run(connection, EVENT, work), ValueError)
    assert connection.execute("select (select count(*) from t), (select count(*) from hapax_inbox)").fetchone() == (
        0,
        0,
    )


# psycopg


def test_psycopg(tables: Postgres) -> None:
    with psycopg.connect(tables.url, autocommit=True) as alone:
        refused("with connection.transaction():", lambda: BILLING.claim(alone, EVENT))
        with alone.transaction():
            refused("inbox.claim(connection, event)", lambda: BILLING.run(alone, EVENT, lambda tx: None))
            assert BILLING.claim(alone.cursor(), EVENT) is hapax.Claim.FIRST
            raise psycopg.Rollback
    with psycopg.connect(tables.url) as implicit:
        implicit.execute("select 1")
        refused("even SELECT", lambda: BILLING.run(implicit, EVENT, lambda tx: None))
        implicit.rollback()
        with implicit.pipeline():
            refused("outside of the pipeline", lambda: BILLING.run(implicit, EVENT, lambda tx: None))
            assert BILLING.claim(implicit, EVENT) is hapax.Claim.FIRST
            assert BILLING.claim(implicit, EVENT) is hapax.Claim.AGAIN
        implicit.rollback()
    refused("closed", lambda: BILLING.claim(implicit, EVENT))
    with psycopg_pool.ConnectionPool(tables.url, min_size=1) as pool:
        refused("pool.connection()", lambda: BILLING.claim(pool, EVENT))
    nothing(tables)


def test_missing_tables(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        for fix in ("create_tables", "alembic", "INSTALLED_APPS"):
            refused(fix, lambda: BILLING.run(connection, EVENT, lambda tx: None), hapax.MissingTable)
        refused("create_tables", lambda: hapax.purge(connection), hapax.MissingTable)


def test_an_unreachable_server_is_retryable() -> None:
    engine = sqlalchemy.create_engine("postgresql+psycopg://postgres@127.0.0.1:1/none")
    for _ in range(2):
        with pytest.raises(hapax.DatabaseError) as caught:
            BILLING.run(engine, EVENT, lambda tx: None)
        assert caught.value.is_retryable and "try again later" in str(caught.value)


def test_a_serialization_failure_of_the_handler_is_retryable(tables: Postgres) -> None:
    def victim(tx: psycopg.Connection[Any]) -> None:
        tx.execute("do $$ begin raise exception 'victim' using errcode = '40001'; end $$")

    with psycopg.connect(tables.url, autocommit=True) as connection:
        for _ in range(2):
            with pytest.raises(psycopg.errors.SerializationFailure) as caught:
                BILLING.run(connection, EVENT, victim)
            assert hapax.is_retryable(caught.value)
        assert not hapax.is_retryable(ValueError("no"))
    nothing(tables)


def test_a_claim_under_repeatable_read_that_lost_is_retryable(tables: Postgres) -> None:
    with psycopg.connect(tables.url) as first, psycopg.connect(tables.url) as second:
        second.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        for number_ in (1, 2):
            event = hapax.Event("stripe", f"evt_{number_}")
            second.execute("select count(*) from hapax_inbox")
            assert BILLING.claim(first, event)
            first.commit()
            with pytest.raises(hapax.DatabaseError) as caught:
                BILLING.claim(second, event)
            assert (caught.value.trouble, caught.value.is_retryable) == ("victim", True)
            second.rollback()


# asyncpg


def test_asyncpg(tables: Postgres) -> None:
    async def check() -> None:
        connection = await asyncpg.connect(tables.url)
        await arefused("async with connection.transaction():", lambda: BILLING.claim(connection, EVENT))
        await arefused(
            "async with connection.transaction():",
            lambda: hapax.outbox.stage(connection, hapax.Call.http("u")),
        )
        async with connection.transaction():
            await arefused("inbox.claim(connection, event)", lambda: BILLING.run(connection, EVENT, working))
        async with asyncpg.create_pool(tables.url, min_size=1, max_size=1) as pool:
            refused("pool.acquire()", lambda: BILLING.claim(pool, EVENT))
            async with pool.acquire() as taken:
                pass
            refused("take another one", lambda: BILLING.claim(taken, EVENT))
        await connection.close()
        refused("closed", lambda: BILLING.claim(connection, EVENT))

    asyncio.run(check())
    nothing(tables)


async def working(_tx: Any) -> None: ...


def test_asyncpg_leaves_a_clean_connection(tables: Postgres) -> None:
    """Whatever ended the run, the connection can begin a transaction of its own afterwards."""

    async def fails(_tx: Any) -> None:
        raise ValueError("told to fail")

    async def commits(tx: Any) -> None:
        await tx.execute("commit")

    async def check() -> None:
        connection = await asyncpg.connect(tables.url)
        for number_, (work, error) in enumerate([(working, None), (fails, ValueError), (commits, hapax.Broken)]):
            event = hapax.Event("stripe", f"evt_{number_}")
            for _ in range(2):
                if error is None:
                    await BILLING.run(connection, event, work)
                elif error is hapax.Broken:
                    event = event.in_generation(event.generation + 1)
                    with pytest.raises(error):
                        await BILLING.run(connection, event, work)
                else:
                    with pytest.raises(error):
                        await BILLING.run(connection, event, work)
                assert not connection.is_in_transaction()
                async with connection.transaction():
                    await connection.execute("select 1")
        await connection.close()

    asyncio.run(check())


def test_asyncpg_without_its_inner_name_for_the_outermost_transaction(tables: Postgres) -> None:
    """The public way, with more round trips, for a version of asyncpg in which that name has changed."""
    from hapax_webhooks.drivers import asyncpg as driver

    async def check() -> None:
        async with asyncpg.create_pool(tables.url, min_size=1, max_size=1) as pool:
            words = []
            for _ in range(2):
                unit = driver.AsyncpgUnit(pool, None, is_public=True)
                words.append((await BILLING.running(unit, EVENT, working)).word)
            assert words == ["processed", "duplicate"]

            async def swallows(tx: Any) -> None:
                with pytest.raises(asyncpg.DivisionByZeroError):
                    await tx.execute("select 1 / 0")

            for _ in range(2):
                with pytest.raises(hapax.Broken):
                    unit = driver.AsyncpgUnit(pool, None, is_public=True)
                    await BILLING.running(unit, hapax.Event("stripe", "evt_2"), swallows)

    asyncio.run(check())


# SQLAlchemy


def test_sqlalchemy(tables: Postgres, tmp_path: Path) -> None:
    url = tables.url.replace("postgresql:", "postgresql+psycopg:")
    engine = sqlalchemy.create_engine(url)
    alone = engine.execution_options(isolation_level="AUTOCOMMIT")
    refused("pass the session or connection", lambda: BILLING.claim(engine, EVENT))
    refused("pass the session or connection", lambda: BILLING.claim(sessionmaker(engine), EVENT))
    with Session(alone) as session:
        refused("AUTOCOMMIT", lambda: BILLING.claim(session, EVENT))
        session.rollback()
        assert BILLING.run(session, hapax.Event("stripe", "run"), lambda tx: 7).value == 7
    with Session(engine) as session:
        session.begin_nested()
        refused("begin_nested", lambda: BILLING.run(session, EVENT, lambda tx: None))
    with engine.connect() as connection:
        pass
    refused("closed", lambda: BILLING.claim(connection, EVENT))
    memory = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'app.db'}", isolation_level="AUTOCOMMIT")
    with Session(memory) as session:
        refused("AUTOCOMMIT", lambda: BILLING.claim(session, EVENT))
    with Session() as unbound:
        refused("bind_arguments", lambda: BILLING.claim(unbound, EVENT))
    assert number(tables, "select count(*) from hapax_inbox") == 1
    engine.dispose()


def test_sqlalchemy_async(tables: Postgres) -> None:
    async def check() -> None:
        engine = create_async_engine(tables.url.replace("postgresql:", "postgresql+asyncpg:"))
        refused("pass the session or connection", lambda: BILLING.claim(async_sessionmaker(engine), EVENT))
        alone = engine.execution_options(isolation_level="AUTOCOMMIT")
        async with AsyncSession(alone) as session:
            await arefused("AUTOCOMMIT", lambda: BILLING.claim(session, EVENT))
        await engine.dispose()

    asyncio.run(check())
    nothing(tables)


def test_what_a_session_has_not_flushed_fails_as_the_handlers_own(tables: Postgres) -> None:
    class Base(DeclarativeBase):
        pass

    class Payment(Base):
        __tablename__ = "payments"
        id: Mapped[int] = mapped_column(primary_key=True)

    engine = sqlalchemy.create_engine(tables.url.replace("postgresql:", "postgresql+psycopg:"))
    Base.metadata.create_all(engine)

    def pay(session: Session) -> None:
        session.add(Payment(id=1))

    with Session(engine) as session:
        assert [BILLING.run(session, EVENT, pay).word for _ in range(2)] == ["processed", "duplicate"]
        for _ in range(2):
            with pytest.raises(IntegrityError):
                BILLING.run(session, hapax.Event("stripe", "evt_2"), pay)
    assert number(tables, "select count(*) from payments") == 1
    assert number(tables, "select count(*) from hapax_inbox") == 1
    engine.dispose()
