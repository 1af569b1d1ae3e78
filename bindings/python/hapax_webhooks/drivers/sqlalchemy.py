"""PostgreSQL and SQLite through SQLAlchemy 2: engines, connections, sessions and their makers, also the asynchronous ones.

A session may have begun its transaction before a run, because any statement begins one. A run then joins it: whatever was
done in it commits with the event, or not at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from inspect import isawaitable
from typing import Any

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import (
    AsyncConnection,
    AsyncEngine,
    AsyncSession,
    async_scoped_session,
    async_sessionmaker,
)
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import scoped_session, sessionmaker

from hapax_webhooks.drivers import trouble
from hapax_webhooks.drivers.contract import Plain, Session, Unit
from hapax_webhooks.drivers.sqlite3 import commits_alone
from hapax_webhooks.drivers.statements import (
    READ_COMMITTED,
    RELEASE,
    SAVEPOINT,
    Dialect,
    Statement,
    statements,
)
from hapax_webhooks.errors import DatabaseError, HapaxError, WrongTransaction

_FAILURES = (SQLAlchemyError, OSError)
_ASYNC = (AsyncConnection, AsyncEngine, AsyncSession, async_scoped_session, async_sessionmaker)
_MAKERS = (Engine, AsyncEngine, sessionmaker, async_sessionmaker)


def session(given: Any) -> Session:
    if isinstance(given, _MAKERS):
        raise WrongTransaction(
            f"a SQLAlchemy {type(given).__name__} is not a transaction; pass the session or connection that you opened "
            "with it"
        )
    return _session(_executor(given))


def unit(given: Any) -> Unit:
    if not isinstance(given, _MAKERS):
        given = _executor(given)
    return (AsyncSqlalchemyUnit if isinstance(given, _ASYNC) else SqlalchemyUnit)(given)


def plain(given: Any) -> Plain:
    if not isinstance(given, _MAKERS):
        given = _executor(given)
    return (AsyncSqlalchemyPlain if isinstance(given, _ASYNC) else SqlalchemyPlain)(given)


def _executor(given: Any) -> Any:
    if isinstance(given, (scoped_session, async_scoped_session)):
        given = given()
    if not isinstance(given, (OrmSession, Connection, AsyncSession, AsyncConnection)):
        raise WrongTransaction(f"a SQLAlchemy session or connection is needed, not {type(given).__name__}")
    if getattr(given, "closed", False):
        raise WrongTransaction("the SQLAlchemy connection is closed; open another one with engine.connect()")
    return given


def _session(executor: Any) -> SqlalchemySession:
    return (AsyncSqlalchemySession if isinstance(executor, _ASYNC) else SqlalchemySession)(executor)


def _dialect(executor: Any) -> Dialect:
    try:
        name = executor.get_bind().dialect.name if hasattr(executor, "get_bind") else executor.dialect.name
    except SQLAlchemyError as error:
        raise WrongTransaction(
            f"the session has no single engine ({error}); pass session.connection(bind_arguments=…), of the engine that "
            "the handler writes to"
        ) from error
    if name == "postgresql":
        return "postgres"
    if name == "sqlite":
        return "sqlite"
    raise WrongTransaction(f"the dialect {name} is not supported; use PostgreSQL or SQLite")


async def _awaited(given: Any) -> Any:
    return await given if isawaitable(given) else given


class SqlalchemySession(Session):
    is_async = False

    def __init__(self, executor: Any) -> None:
        self.connection = executor
        self.dialect = _dialect(executor)
        self.statements = statements(self.dialect, "named")

    async def _run(self, sql: str, values: dict[str, Any]) -> Any:
        try:
            return await _awaited(self.connection.execute(text(sql), values))
        except _FAILURES as error:
            raise trouble.database_error(error) from error

    async def first(self, statement: Statement, values: Sequence[Any]) -> Sequence[Any] | None:
        row: Sequence[Any] | None = (await self._run(statement.sql, statement.named(values))).first()
        return row

    async def affected(self, statement: Statement, values: Sequence[Any]) -> int:
        return int((await self._run(statement.sql, statement.named(values))).rowcount)

    async def execute(self, sql: str) -> None:
        await self._run(sql, {})

    async def sync_connection(self, **options: Any) -> Any:
        """SQLAlchemy's own connection in this transaction."""
        executor = self.connection
        if isinstance(executor, (OrmSession, AsyncSession)):
            executor = await _awaited(executor.connection(**options))
        return executor.sync_connection if isinstance(executor, AsyncConnection) else executor

    async def check_open(self) -> None:
        try:
            raw = (await self.sync_connection()).connection.dbapi_connection
        except _FAILURES as error:
            raise _unusable(error) from error
        is_sqlite = self.dialect == "sqlite"
        alone = commits_alone(_SqliteState(raw)) if is_sqlite else getattr(raw, "autocommit", False) is True
        if alone:
            raise WrongTransaction(
                "the SQLAlchemy connection is in autocommit mode, so the claim would commit without your changes; use an "
                "engine without isolation_level='AUTOCOMMIT'"
            )


class AsyncSqlalchemySession(SqlalchemySession):
    is_async = True


class _SqliteState:
    """The state of a SQLite connection, whether SQLAlchemy has wrapped it for asyncio or not."""

    def __init__(self, raw: Any) -> None:
        inner = getattr(raw, "driver_connection", raw)
        self.in_transaction = inner.in_transaction
        self.isolation_level = inner.isolation_level
        self.autocommit = getattr(inner, "autocommit", None)


def _unusable(error: BaseException) -> HapaxError:
    """A session that is closed or waits for a rollback is the caller's mistake; a lost database is not."""
    known = trouble.database_error(error)
    if known.trouble == "unavailable" or isinstance(error, DBAPIError):
        return known
    return WrongTransaction(f"the SQLAlchemy transaction is not open ({error}); begin it before you claim")


class SqlalchemyUnit(Unit):
    is_async = False
    session: SqlalchemySession

    def __init__(self, given: Any) -> None:
        self.given = given
        self.is_ours = isinstance(given, _MAKERS)
        self.executor: Any = None

    async def begin(self) -> None:
        executor = await self.take()
        if executor.in_nested_transaction():
            raise WrongTransaction(
                "the SQLAlchemy session is inside begin_nested(), whose end commits nothing; run the event outside of it"
            )
        is_fresh = not executor.in_transaction()
        if not is_fresh:
            await self.session.check_open()
        self.has_begun = True
        try:
            if is_fresh:
                if not self.is_ours and isinstance(executor, (OrmSession, AsyncSession)):
                    await _awaited(executor.begin())
                await self._isolate()
            self.sync = await self.session.sync_connection()
        except _FAILURES as error:
            raise _unusable(error) from error
        if is_fresh:
            await self.session.check_open()
        if self.session.dialect == "postgres":
            await self.session.execute(SAVEPOINT)

    async def take(self) -> Any:
        given = self.given
        if isinstance(given, (Engine, AsyncEngine)):
            try:
                given = await _awaited(given.connect())
            except _FAILURES as error:
                raise trouble.database_error(error) from error
        elif self.is_ours:
            given = given()
        self.executor = self.tx = given
        self.session = _session(given)
        return given

    async def _isolate(self) -> None:
        """Whatever the engine's default is: at a higher level, a claim could not see the row that it waited for."""
        if self.session.dialect != "postgres":
            return
        executor = self.executor
        is_session = isinstance(executor, (OrmSession, AsyncSession))
        if is_session and not _is_bound_to_connection(executor):
            # Costs no round trip, and ends when the session gives the connection back.
            await self.session.sync_connection(execution_options={"isolation_level": "READ COMMITTED"})
        elif self.is_ours:
            await _awaited(executor.execution_options(isolation_level="READ COMMITTED"))
        elif not is_session:
            await self.session.execute(READ_COMMITTED)

    async def under_savepoint(self) -> None:
        if self.session.dialect == "sqlite":
            await self.session.execute(SAVEPOINT)

    async def complete(self) -> None:
        if isinstance(self.executor, (OrmSession, AsyncSession)):
            # What the handler added but SQLAlchemy has not yet written; an error here is the handler's own.
            await _awaited(self.executor.flush())
        if self.sync.invalidated:
            raise trouble.database_error(OSError("the connection was lost while the handler ran"))
        try:
            await _awaited(self.executor.execute(text(RELEASE)))
        except _FAILURES as error:
            raise trouble.release_error(error) from error
        try:
            await _awaited(self.executor.commit())
        except _FAILURES as error:
            raise trouble.commit_error(error) from error

    async def commit(self) -> None:
        try:
            await _awaited(self.executor.commit())
        except _FAILURES as error:
            raise trouble.database_error(error) from error

    async def roll_back(self) -> None:
        if self.executor is not None:
            await _awaited(self.executor.rollback())

    async def close(self) -> None:
        if self.is_ours and self.executor is not None:
            executor, self.executor = self.executor, None
            await _awaited(executor.close())


class AsyncSqlalchemyUnit(SqlalchemyUnit):
    is_async = True


def _is_bound_to_connection(executor: Any) -> bool:
    """As in test suites that roll everything back: the outer transaction has its isolation level already."""
    return isinstance(executor.get_bind(), Connection)


class SqlalchemyPlain(Plain):
    is_async = False

    def __init__(self, given: Any) -> None:
        self.unit = (AsyncSqlalchemyUnit if isinstance(given, _ASYNC) else SqlalchemyUnit)(given)
        bind = given.kw.get("bind") if isinstance(given, (sessionmaker, async_sessionmaker)) else given
        self.dialect = _dialect(bind)
        self.statements = statements(self.dialect, "named")

    async def apply(self, sql: Sequence[str]) -> None:
        await self._in_transaction([Statement(text, None) for text in sql], {})

    async def count(self, statement: Statement, values: Sequence[Any]) -> int:
        return await self._in_transaction([statement], statement.named(values))

    async def _in_transaction(self, wanted: Sequence[Statement], values: dict[str, Any]) -> int:
        unit, rows = self.unit, 0
        executor = await unit.take()
        is_ours = not executor.in_transaction()
        try:
            for statement in wanted:
                rows = (await unit.session._run(statement.sql, values)).rowcount
            if is_ours:
                await unit.commit()
        except DatabaseError:
            if is_ours:
                with contextlib.suppress(*_FAILURES):
                    await unit.roll_back()
            raise
        finally:
            await unit.close()
        return int(rows)


class AsyncSqlalchemyPlain(SqlalchemyPlain):
    is_async = True
