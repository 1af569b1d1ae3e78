"""PostgreSQL through psycopg 3, synchronous and asynchronous."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from inspect import isawaitable
from typing import Any

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row

from hapax_webhooks.drivers import trouble
from hapax_webhooks.drivers.contract import Plain, Session, Unit
from hapax_webhooks.drivers.statements import READ_COMMITTED, RELEASE, SAVEPOINT, Statement, statements
from hapax_webhooks.errors import WrongTransaction

_POOLS = ("psycopg_pool",)


def session(given: Any) -> Session:
    if is_pool(given):
        raise WrongTransaction(
            "a psycopg pool is not a transaction; take a connection with `with pool.connection() as connection:` "
            "(`async with` for an asynchronous pool) and pass that"
        )
    return _session(_connection(given))


def unit(given: Any) -> Unit:
    if is_pool(given):
        is_async = hasattr(given, "__aenter__")
        return (AsyncPsycopgUnit if is_async else PsycopgUnit)(given, None)
    connection = _connection(given)
    return (AsyncPsycopgUnit if _is_async(connection) else PsycopgUnit)(None, connection)


def plain(given: Any) -> Plain:
    made = unit(given)
    return (AsyncPsycopgPlain if made.is_async else PsycopgPlain)(made)


def is_pool(given: Any) -> bool:
    return any(kind.__module__.split(".")[0] in _POOLS for kind in type(given).__mro__)


def _is_async(connection: Any) -> bool:
    return isinstance(connection, psycopg.AsyncConnection)


def _connection(given: Any) -> Any:
    if isinstance(given, (psycopg.Cursor, psycopg.AsyncCursor)):
        given = given.connection
    if not isinstance(given, (psycopg.Connection, psycopg.AsyncConnection)):
        raise WrongTransaction(f"a psycopg connection is needed, not {type(given).__name__}")
    if given.closed:
        raise WrongTransaction("the psycopg connection is closed; connect again, or take one from the pool")
    return given


def _session(connection: Any) -> Session:
    return (AsyncPsycopgSession if _is_async(connection) else PsycopgSession)(connection)


class PsycopgSession(Session):
    is_async = False
    dialect = "postgres"

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.statements = statements("postgres", "format")

    def _cursor(self) -> Any:
        # A plain cursor, because the connection may have another kind of cursor or of row.
        kind: Any = psycopg.AsyncCursor if self.is_async else psycopg.Cursor
        return kind(self.connection, row_factory=tuple_row)

    async def _run(self, sql: str, values: Sequence[Any] | None) -> Any:
        cursor = self._cursor()
        try:
            # A statement without values may be several, which cannot be prepared.
            ran = cursor.execute(sql, values, prepare=False if values is None else None)
            return await ran if isawaitable(ran) else ran
        except (psycopg.Error, OSError) as error:
            raise trouble.database_error(error) from error

    async def first(self, statement: Statement, values: Sequence[Any]) -> Sequence[Any] | None:
        cursor = await self._run(statement.sql, statement.positional(values))
        try:
            # At once: in a pipeline, errors and results arrive with the fetch.
            fetched = cursor.fetchone()
            row: Sequence[Any] | None = await fetched if isawaitable(fetched) else fetched
        except (psycopg.Error, OSError) as error:
            raise trouble.database_error(error) from error
        return row

    async def affected(self, statement: Statement, values: Sequence[Any]) -> int:
        cursor = await self._run(statement.sql, statement.positional(values))
        return int(cursor.rowcount)

    async def execute(self, sql: str) -> None:
        await self._run(sql, None)

    async def last_tag(self, sql: str) -> str | None:
        """Runs several statements as one request, and returns the command tag of the last one."""
        cursor = self._cursor()
        ran = cursor.execute(sql, prepare=False)
        cursor = await ran if isawaitable(ran) else ran
        while cursor.nextset():
            pass
        tag: str | None = cursor.statusmessage
        return tag

    async def check_open(self) -> None:
        if self.connection.autocommit and self.connection.info.transaction_status == TransactionStatus.IDLE:
            raise WrongTransaction(
                "the psycopg connection is in autocommit mode and no transaction is open, so the claim would commit "
                "without your changes; claim inside `with connection.transaction():`"
            )


class AsyncPsycopgSession(PsycopgSession):
    is_async = True


class PsycopgUnit(Unit):
    is_async = False

    def __init__(self, pool: Any, connection: Any) -> None:
        self.pool = pool
        self.connection = connection

    async def begin(self) -> None:
        await self.take()
        connection = self.connection
        if connection.info.transaction_status != TransactionStatus.IDLE:
            raise WrongTransaction(
                "the psycopg connection already has an open transaction (any statement, even SELECT, opens one unless "
                "the connection is in autocommit mode); end it first, or use inbox.claim(connection, event) inside it"
            )
        if connection.pgconn.pipeline_status != PipelineStatus.OFF:
            raise WrongTransaction("the psycopg connection is in pipeline mode; run the event outside of the pipeline")
        self.has_begun = True
        # Without autocommit, psycopg sends BEGIN itself, before this.
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED" if connection.autocommit else READ_COMMITTED
        await self.session.execute(f"{begin}; {SAVEPOINT}")

    async def take(self) -> None:
        if self.pool is not None:
            try:
                taken = self.pool.getconn()
                self.connection = await taken if isawaitable(taken) else taken
            except (psycopg.Error, OSError) as error:
                raise trouble.database_error(error) from error
        self.tx = self.connection
        self.session: PsycopgSession = (AsyncPsycopgSession if self.is_async else PsycopgSession)(self.connection)

    async def complete(self) -> None:
        if self.connection.closed:
            raise trouble.database_error(OSError("the connection was lost while the handler ran"))
        try:
            # One round trip, as safe as two: PostgreSQL runs the statements of one simple query in order and stops at
            # the first that fails. So COMMIT runs only if the savepoint was there and the transaction had not failed.
            tag = await self.session.last_tag(f"{RELEASE}; COMMIT")
        except (psycopg.Error, OSError) as error:
            raise trouble.completion_error(error) from error
        if tag != "COMMIT":
            raise trouble.broken(f"COMMIT was answered with {tag}")

    async def commit(self) -> None:
        await self.session.execute("COMMIT")

    async def roll_back(self) -> None:
        if self.connection is not None and not self.connection.closed:
            rolled = self.connection.rollback()
            if isawaitable(rolled):
                await rolled

    async def close(self) -> None:
        if self.pool is not None and self.connection is not None:
            connection, self.connection = self.connection, None
            given = self.pool.putconn(connection)
            if isawaitable(given):
                await given


class AsyncPsycopgUnit(PsycopgUnit):
    is_async = True


class PsycopgPlain(Plain):
    is_async = False
    dialect = "postgres"

    def __init__(self, unit: Any) -> None:
        self.unit = unit
        self.statements = statements("postgres", "format")

    async def apply(self, sql: Sequence[str]) -> None:
        await self._in_transaction([Statement(text, None) for text in sql], None)

    async def count(self, statement: Statement, values: Sequence[Any]) -> int:
        return await self._in_transaction([statement], statement.positional(values))

    async def _in_transaction(self, wanted: Sequence[Statement], values: Sequence[Any] | None) -> int:
        unit, rows = self.unit, 0
        await unit.take()
        try:
            connection = unit.connection
            is_ours = connection.info.transaction_status == TransactionStatus.IDLE
            if is_ours and connection.autocommit:
                await unit.session.execute("BEGIN")
            try:
                for statement in wanted:
                    rows = (await unit.session._run(statement.sql, values)).rowcount
                if is_ours:
                    await unit.commit()
            except BaseException:
                if is_ours:
                    with contextlib.suppress(psycopg.Error, OSError):
                        await unit.roll_back()
                raise
        finally:
            await unit.close()
        return int(rows)


class AsyncPsycopgPlain(PsycopgPlain):
    is_async = True
