"""Every driver as the laws see it: one delivery, claim or staged call, on a connection to itself.

Everything is called on a thread of its own. An asynchronous driver has an event loop there.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import django_project
import psycopg
import psycopg_pool
import sqlalchemy
from databases import Postgres, Sqlite
from django.db import connections, transaction
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import NullPool

import hapax_webhooks as hapax
from hapax_webhooks.drivers.contract import finish

Handler = Callable[[Callable[[str], Any], Callable[[hapax.Call], Any]], Any]
"""Acts through functions that run a statement and stage a call; returns an awaitable if they do."""


class Subject(ABC):
    """`wait_ms` is SQLite's busy timeout."""

    name: str
    dialect: str

    def __init__(self, database: Any) -> None:
        self.database = database

    @abstractmethod
    def run(self, inbox: hapax.Inbox, event: hapax.Event, handler: Handler, wait_ms: int) -> hapax.Outcome[Any]: ...

    @abstractmethod
    def claim(self, inbox: hapax.Inbox, event: hapax.Event, *, commit: bool) -> hapax.Claim: ...

    @abstractmethod
    def stage(self, call: hapax.Call, *, commit: bool) -> None: ...

    @abstractmethod
    def purge(self, rows_max: int) -> int: ...

    @abstractmethod
    def create_tables(self) -> None: ...


class Synchronous(Subject):
    def opened(self, wait_ms: int) -> Any:
        """A context with what `run`, `purge` and `create_tables` take."""
        raise NotImplementedError

    def transaction(self, db: Any) -> Any:
        """A context with an open transaction, as people open it, and functions that end it."""
        raise NotImplementedError

    def execute(self, tx: Any, sql: str) -> None:
        tx.execute(sql)

    def run(self, inbox: hapax.Inbox, event: hapax.Event, handler: Handler, wait_ms: int) -> hapax.Outcome[Any]:
        def work(tx: Any) -> None:
            finish(handler(lambda sql: self.execute(tx, sql), lambda call: hapax.outbox.stage(tx, call)))

        with self.opened(wait_ms) as db:
            return inbox.run(db, event, work)

    def claim(self, inbox: hapax.Inbox, event: hapax.Event, *, commit: bool) -> hapax.Claim:
        with self.opened(30_000) as db, self.transaction(db) as (tx, end):
            claim = inbox.claim(tx, event)
            end(commit)
        return claim

    def stage(self, call: hapax.Call, *, commit: bool) -> None:
        with self.opened(30_000) as db, self.transaction(db) as (tx, end):
            hapax.outbox.stage(tx, call)
            end(commit)

    def purge(self, rows_max: int) -> int:
        with self.opened(30_000) as db:
            return hapax.purge(db, rows_max)

    def create_tables(self) -> None:
        with self.opened(30_000) as db:
            hapax.create_tables(db)


class Asynchronous(Subject):
    def opened(self, wait_ms: int) -> Any:
        raise NotImplementedError

    def transaction(self, db: Any) -> Any:
        raise NotImplementedError

    async def execute(self, tx: Any, sql: str) -> None:
        await tx.execute(sql)

    def run(self, inbox: hapax.Inbox, event: hapax.Event, handler: Handler, wait_ms: int) -> hapax.Outcome[Any]:
        async def running() -> hapax.Outcome[Any]:
            async def work(tx: Any) -> None:
                await handler(lambda sql: self.execute(tx, sql), lambda call: hapax.outbox.stage(tx, call))

            async with self.opened(wait_ms) as db:
                return await inbox.run(db, event, work)

        return asyncio.run(running())

    def claim(self, inbox: hapax.Inbox, event: hapax.Event, *, commit: bool) -> hapax.Claim:
        async def claiming() -> hapax.Claim:
            async with self.opened(30_000) as db, self.transaction(db) as (tx, end):
                claim = await inbox.claim(tx, event)
                await end(commit)
            return claim

        return asyncio.run(claiming())

    def stage(self, call: hapax.Call, *, commit: bool) -> None:
        async def staging() -> None:
            async with self.opened(30_000) as db, self.transaction(db) as (tx, end):
                await hapax.outbox.stage(tx, call)
                await end(commit)

        asyncio.run(staging())

    def purge(self, rows_max: int) -> int:
        async def purging() -> int:
            async with self.opened(30_000) as db:
                return await hapax.purge(db, rows_max)

        return asyncio.run(purging())

    def create_tables(self) -> None:
        async def creating() -> None:
            async with self.opened(30_000) as db:
                await hapax.create_tables(db)

        asyncio.run(creating())


class Sqlite3(Synchronous):
    """Legacy mode: the module begins before the first write."""

    name = "sqlite3"
    dialect = "sqlite"
    modes: dict[str, Any] = {}
    begin = ""

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.database.path, timeout=wait_ms / 1000, **self.modes)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def transaction(self, db: sqlite3.Connection) -> Iterator[Any]:
        if self.begin:
            db.execute(self.begin)
            yield db, lambda commit: db.execute("commit" if commit else "rollback")
        else:
            yield db, lambda commit: db.commit() if commit else db.rollback()


class Sqlite3Manual(Sqlite3):
    name = "sqlite3 manual"
    modes = {"isolation_level": None}
    begin = "begin immediate"


class Sqlite3Implicit(Sqlite3):
    name = "sqlite3 autocommit=False"
    modes = {"autocommit": False}


class Sqlite3Autocommit(Sqlite3):
    name = "sqlite3 autocommit=True"
    modes = {"autocommit": True}
    begin = "begin immediate"


class Psycopg(Synchronous):
    name = "psycopg"
    dialect = "postgres"
    autocommit = True

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[psycopg.Connection[Any]]:
        connection = psycopg.connect(self.database.url, options=self.database.options, autocommit=self.autocommit)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def transaction(self, db: psycopg.Connection[Any]) -> Iterator[Any]:
        with db.transaction() as opened:
            yield db, lambda commit: None if commit else _roll_back(opened)

    def execute(self, tx: Any, sql: str) -> None:
        tx.execute(sql.encode())


def _roll_back(opened: Any) -> None:
    raise psycopg.Rollback(opened)


class PsycopgImplicit(Psycopg):
    """Without autocommit, where the first statement begins, with rows and cursors of another kind."""

    name = "psycopg without autocommit"
    autocommit = False

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[psycopg.Connection[Any]]:
        with super().opened(wait_ms) as connection:
            connection.row_factory = psycopg.rows.dict_row
            connection.cursor_factory = psycopg.ClientCursor
            yield connection

    @contextmanager
    def transaction(self, db: psycopg.Connection[Any]) -> Iterator[Any]:
        yield db, lambda commit: db.commit() if commit else db.rollback()


class PsycopgPool(Psycopg):
    name = "psycopg pool"

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[Any]:
        options = {"options": self.database.options}
        with psycopg_pool.ConnectionPool(self.database.url, kwargs=options, min_size=1, max_size=1) as pool:
            yield pool

    @contextmanager
    def transaction(self, db: Any) -> Iterator[Any]:
        with db.connection() as connection:
            yield connection, lambda commit: None if commit else connection.rollback()


class AsyncPsycopg(Asynchronous):
    name = "psycopg async"
    dialect = "postgres"

    @asynccontextmanager
    async def opened(self, wait_ms: int) -> AsyncIterator[Any]:
        connection = await psycopg.AsyncConnection.connect(
            self.database.url, options=self.database.options, autocommit=True
        )
        try:
            yield connection
        finally:
            await connection.close()

    @asynccontextmanager
    async def transaction(self, db: Any) -> AsyncIterator[Any]:
        async with db.transaction() as opened:

            async def end(commit: bool) -> None:
                if not commit:
                    _roll_back(opened)

            yield db, end

    async def execute(self, tx: Any, sql: str) -> None:
        await tx.execute(sql.encode())


class AsyncPsycopgPool(AsyncPsycopg):
    name = "psycopg async pool"

    @asynccontextmanager
    async def opened(self, wait_ms: int) -> AsyncIterator[Any]:
        options = {"options": self.database.options}
        async with psycopg_pool.AsyncConnectionPool(
            self.database.url, kwargs=options, min_size=1, max_size=1, open=False
        ) as pool:
            yield pool

    @asynccontextmanager
    async def transaction(self, db: Any) -> AsyncIterator[Any]:
        async with db.connection() as connection, super().transaction(connection) as opened:
            yield opened


class Asyncpg(Asynchronous):
    name = "asyncpg"
    dialect = "postgres"

    @asynccontextmanager
    async def opened(self, wait_ms: int) -> AsyncIterator[Any]:
        connection = await asyncpg.connect(self.database.url, server_settings=self.database.settings)
        try:
            yield connection
        finally:
            await connection.close()

    @asynccontextmanager
    async def transaction(self, db: Any) -> AsyncIterator[Any]:
        opened = db.transaction()
        await opened.start()

        async def end(commit: bool) -> None:
            await (opened.commit() if commit else opened.rollback())

        yield db, end


class AsyncpgPool(Asyncpg):
    name = "asyncpg pool"

    @asynccontextmanager
    async def opened(self, wait_ms: int) -> AsyncIterator[Any]:
        async with asyncpg.create_pool(
            self.database.url, server_settings=self.database.settings, min_size=1, max_size=1
        ) as pool:
            yield pool

    @asynccontextmanager
    async def transaction(self, db: Any) -> AsyncIterator[Any]:
        async with db.acquire() as connection, super().transaction(connection) as opened:
            yield opened


class SqlalchemySession(Synchronous):
    """A session maker, on psycopg."""

    name = "sqlalchemy sessionmaker"
    dialect = "postgres"

    def engine(self, wait_ms: int) -> sqlalchemy.Engine:
        if isinstance(self.database, Sqlite):
            arguments = {"timeout": wait_ms / 1000}
            return sqlalchemy.create_engine(
                f"sqlite:///{self.database.path}", connect_args=arguments, poolclass=NullPool
            )
        url = self.database.url.replace("postgresql:", "postgresql+psycopg:")
        options = {"options": self.database.options}
        return sqlalchemy.create_engine(url, connect_args=options, poolclass=NullPool)

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[Any]:
        yield sessionmaker(self.engine(wait_ms))

    @contextmanager
    def transaction(self, db: Any) -> Iterator[Any]:
        with db() as session:
            yield session, lambda commit: session.commit() if commit else session.rollback()

    def execute(self, tx: Any, sql: str) -> None:
        tx.execute(sqlalchemy.text(sql.replace(":", "\\:")))


class SqlalchemyOneSession(SqlalchemySession):
    """A session, as a framework's dependency has it."""

    name = "sqlalchemy session"

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[Any]:
        with Session(self.engine(wait_ms)) as session:
            yield session

    @contextmanager
    def transaction(self, db: Any) -> Iterator[Any]:
        yield db, lambda commit: db.commit() if commit else db.rollback()


class SqlalchemyEngine(SqlalchemySession):
    name = "sqlalchemy engine"

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[Any]:
        yield self.engine(wait_ms)

    @contextmanager
    def transaction(self, db: Any) -> Iterator[Any]:
        with db.connect() as connection:
            yield connection, lambda commit: connection.commit() if commit else connection.rollback()


class SqlalchemyConnection(SqlalchemyEngine):
    name = "sqlalchemy connection"

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[Any]:
        with self.engine(wait_ms).connect() as connection:
            yield connection

    @contextmanager
    def transaction(self, db: Any) -> Iterator[Any]:
        yield db, lambda commit: db.commit() if commit else db.rollback()


class SqlalchemySqlite(SqlalchemySession):
    name = "sqlalchemy sqlite"
    dialect = "sqlite"


class SqlalchemySqliteSession(SqlalchemyOneSession):
    name = "sqlalchemy sqlite session"
    dialect = "sqlite"


class AsyncSqlalchemy(Asynchronous):
    """An asynchronous session maker, on asyncpg."""

    name = "sqlalchemy async sessionmaker"
    dialect = "postgres"

    def engine(self, wait_ms: int) -> AsyncEngine:
        if isinstance(self.database, Sqlite):
            arguments: dict[str, Any] = {"timeout": wait_ms / 1000}
            url = f"sqlite+aiosqlite:///{self.database.path}"
            return create_async_engine(url, connect_args=arguments, poolclass=NullPool)
        url = self.database.url.replace("postgresql:", "postgresql+asyncpg:")
        return create_async_engine(url, connect_args={"server_settings": self.database.settings}, poolclass=NullPool)

    @asynccontextmanager
    async def opened(self, wait_ms: int) -> AsyncIterator[Any]:
        yield async_sessionmaker(self.engine(wait_ms))

    @asynccontextmanager
    async def transaction(self, db: Any) -> AsyncIterator[Any]:
        async with db() as session:
            yield session, lambda commit: session.commit() if commit else session.rollback()

    async def execute(self, tx: Any, sql: str) -> None:
        await tx.execute(sqlalchemy.text(sql.replace(":", "\\:")))


class AsyncSqlalchemySession(AsyncSqlalchemy):
    name = "sqlalchemy async session"

    @asynccontextmanager
    async def opened(self, wait_ms: int) -> AsyncIterator[Any]:
        async with AsyncSession(self.engine(wait_ms)) as session:
            yield session

    @asynccontextmanager
    async def transaction(self, db: Any) -> AsyncIterator[Any]:
        yield db, lambda commit: db.commit() if commit else db.rollback()


class AsyncSqlalchemyEngine(AsyncSqlalchemy):
    name = "sqlalchemy async engine"

    @asynccontextmanager
    async def opened(self, wait_ms: int) -> AsyncIterator[Any]:
        yield self.engine(wait_ms)

    @asynccontextmanager
    async def transaction(self, db: Any) -> AsyncIterator[Any]:
        async with db.connect() as connection:
            yield connection, lambda commit: connection.commit() if commit else connection.rollback()


class AsyncSqlalchemySqlite(AsyncSqlalchemy):
    name = "sqlalchemy aiosqlite"
    dialect = "sqlite"


class Django(Synchronous):
    name = "django"
    dialect = "postgres"

    @contextmanager
    def opened(self, wait_ms: int) -> Iterator[Any]:
        alias = django_project.add(self.database, wait_ms)
        connection = connections[alias]
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def transaction(self, db: Any) -> Iterator[Any]:
        with transaction.atomic(using=db.alias):
            yield db, lambda commit: None if commit else transaction.set_rollback(True, using=db.alias)

    def execute(self, tx: Any, sql: str) -> None:
        with tx.cursor() as cursor:
            cursor.execute(sql)


class DjangoSqlite(Django):
    name = "django sqlite"
    dialect = "sqlite"


SUBJECTS: list[type[Subject]] = [
    Sqlite3,
    Sqlite3Manual,
    *([Sqlite3Implicit, Sqlite3Autocommit] if sys.version_info >= (3, 12) else []),
    Psycopg,
    PsycopgImplicit,
    PsycopgPool,
    AsyncPsycopg,
    AsyncPsycopgPool,
    Asyncpg,
    AsyncpgPool,
    SqlalchemySession,
    SqlalchemyOneSession,
    SqlalchemyEngine,
    SqlalchemyConnection,
    SqlalchemySqlite,
    SqlalchemySqliteSession,
    AsyncSqlalchemy,
    AsyncSqlalchemySession,
    AsyncSqlalchemyEngine,
    AsyncSqlalchemySqlite,
    Django,
    DjangoSqlite,
]


def database_of(subject: type[Subject], postgres: Callable[[], Postgres], folder: Any) -> Any:
    if subject.dialect == "postgres":
        return postgres()
    database = Sqlite(folder / "app.db")
    database.rows("select 1")
    return database
