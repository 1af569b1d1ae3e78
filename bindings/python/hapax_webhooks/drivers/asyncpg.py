"""PostgreSQL through `asyncpg`.

The fast path needs one round trip less than a handler that is written by hand: BEGIN with the claim, work, COMMIT.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from hapax_webhooks.drivers import trouble
from hapax_webhooks.drivers.contract import Plain, Session, Unit
from hapax_webhooks.drivers.statements import RELEASE, SAVEPOINT, Statement, prepared_claim, statements
from hapax_webhooks.errors import WrongTransaction

if TYPE_CHECKING:
    from hapax_webhooks.claiming import Mark

_FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, asyncio.TimeoutError)
_BEGIN = f"BEGIN ISOLATION LEVEL READ COMMITTED; {SAVEPOINT}"
_COMPLETE = f"{RELEASE}; COMMIT"
_is_prepared: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""Of each connection: whether the claim is prepared on it; False if a pooler loses it."""


def session(given: Any) -> Session:
    if isinstance(given, asyncpg.Pool):
        raise WrongTransaction(
            "an asyncpg pool runs every statement on any of its connections; take one with `async with pool.acquire() as "
            "connection, connection.transaction():` and pass the connection"
        )
    return AsyncpgSession(_connection(given))


def unit(given: Any) -> Unit:
    if isinstance(given, asyncpg.Pool):
        return AsyncpgUnit(given, None)
    return AsyncpgUnit(None, _connection(given))


def plain(given: Any) -> Plain:
    return AsyncpgPlain(given if isinstance(given, asyncpg.Pool) else _connection(given))


def _connection(given: Any) -> Any:
    if not isinstance(given, (asyncpg.Connection, PoolConnectionProxy)):
        raise WrongTransaction(
            f"an asyncpg connection is needed, not {type(given).__name__}; pass the connection whose transaction is open"
        )
    try:
        closed = given.is_closed()
    except asyncpg.InterfaceError as error:
        raise WrongTransaction(f"the connection cannot be used: {error}; take another one from the pool") from error
    if closed:
        raise WrongTransaction("the asyncpg connection is closed; connect again, or take one from the pool")
    return given


def _is_lost(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        # A pool has taken it back because it broke.
        return True


class AsyncpgSession(Session):
    is_async = True
    dialect = "postgres"

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.statements = statements("postgres", "native")

    async def first(self, statement: Statement, values: Sequence[Any]) -> Sequence[Any] | None:
        try:
            row: Sequence[Any] | None = await self.connection.fetchrow(statement.sql, *values)
        except _FAILURES as error:
            raise trouble.database_error(error) from error
        return row

    async def affected(self, statement: Statement, values: Sequence[Any]) -> int:
        try:
            return _rows(await self.connection.execute(statement.sql, *values))
        except _FAILURES as error:
            raise trouble.database_error(error) from error

    async def execute(self, sql: str) -> None:
        try:
            await self.connection.execute(sql)
        except _FAILURES as error:
            raise trouble.database_error(error) from error

    async def check_open(self) -> None:
        if not self.connection.is_in_transaction():
            raise WrongTransaction(
                "no transaction is open on the asyncpg connection, so the claim would commit without your changes; "
                "claim inside `async with connection.transaction():`"
            )


class AsyncpgUnit(Unit):
    is_async = True

    def __init__(self, pool: Any, connection: Any, *, is_public: bool = False) -> None:
        self.pool = pool
        self.connection = connection
        self.is_public = is_public
        """Whether to use asyncpg's public methods only, at the cost of two more round trips."""
        self.opened: Any = None
        """The bare connection, while its outermost transaction is ours."""
        self.transaction: Any = None

    async def begin(self) -> None:
        await self._begin(None, "")

    async def begin_and_claim(self, mark: Mark, wait: str) -> bool | None:
        return await self._begin(mark, wait)

    async def _begin(self, mark: Mark | None, wait: str) -> bool | None:
        if self.pool is not None:
            try:
                self.connection = await self.pool.acquire()
            except _FAILURES as error:
                raise trouble.database_error(error) from error
        connection = self.tx = self.connection
        self.session = AsyncpgSession(connection)
        if connection.is_in_transaction():
            raise WrongTransaction(
                "the connection already has an open transaction; end it first, or use inbox.claim(connection, event) "
                "inside it"
            )
        self.has_begun = True
        transaction = connection.transaction(isolation="read_committed")
        bare = getattr(connection, "_con", connection)
        if self.is_public or not hasattr(bare, "_top_xact"):
            try:
                await transaction.start()
            except _FAILURES as error:
                raise trouble.database_error(error) from error
            self.transaction = transaction
            await self.session.execute(SAVEPOINT)
            return None
        # One round trip. asyncpg then knows that a transaction is open, but refuses to nest in it; naming ours as the
        # outermost one lets a handler use `connection.transaction()`, which becomes a savepoint.
        self.opened = bare
        is_inserted = None
        if mark is not None and await self._prepare(bare):
            is_inserted = await self._execute(bare, prepared_claim().execute(mark, wait))
        if is_inserted is None:
            await self.session.execute(_BEGIN)
        bare._top_xact = transaction
        return is_inserted

    async def _prepare(self, bare: Any) -> bool:
        known = _is_prepared.get(bare)
        if known is None:
            try:
                await self.connection.execute(prepared_claim().prepare)
            except asyncpg.DuplicatePreparedStatementError:
                pass  # By another client of the same pooler.
            except _FAILURES as error:
                raise trouble.database_error(error) from error
            known = _is_prepared[bare] = True
        return known

    async def _execute(self, bare: Any, claim: str) -> bool | None:
        """Begins and claims. None if the prepared statement is gone, and nothing has begun."""
        try:
            tag: str = await self.connection.execute(f"{_BEGIN}; {claim}")
        except asyncpg.InvalidSQLStatementNameError:
            _is_prepared[bare] = False
            await self.session.execute("ROLLBACK")
            return None
        except _FAILURES as error:
            raise trouble.database_error(error) from error
        return tag == "INSERT 0 1"

    async def complete(self) -> None:
        if _is_lost(self.connection):
            raise trouble.database_error(OSError("the connection was lost while the handler ran"))
        try:
            if self.opened is None:
                await self.connection.execute(RELEASE)
                await self.transaction.commit()
                return
            # One round trip, as safe as two: PostgreSQL runs the statements of one simple query in order and stops at
            # the first that fails. So COMMIT runs only if the savepoint was there and the transaction had not failed.
            tag = await self.connection.execute(_COMPLETE)
        except _FAILURES as error:
            raise trouble.completion_error(error) from error
        self.opened._top_xact = None
        if tag != "COMMIT":
            raise trouble.broken(f"COMMIT was answered with {tag}")

    async def commit(self) -> None:
        await self._end("COMMIT")

    async def roll_back(self) -> None:
        await self._end("ROLLBACK")

    async def _end(self, sql: str) -> None:
        if self.opened is not None:
            self.opened._top_xact = None
            if not _is_lost(self.connection) and self.connection.is_in_transaction():
                await self.session.execute(sql)
        elif self.transaction is not None:
            await (self.transaction.commit() if sql == "COMMIT" else self.transaction.rollback())

    async def close(self) -> None:
        if self.pool is not None and self.connection is not None:
            connection, self.connection = self.connection, None
            await self.pool.release(connection)


class AsyncpgPlain(Plain):
    is_async = True
    dialect = "postgres"

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.statements = statements("postgres", "native")

    async def apply(self, sql: Sequence[str]) -> None:
        try:
            # Several statements in one request are one transaction.
            await self.executor.execute(";\n".join(sql))
        except _FAILURES as error:
            raise trouble.database_error(error) from error

    async def count(self, statement: Statement, values: Sequence[Any]) -> int:
        try:
            return _rows(await self.executor.execute(statement.sql, *values))
        except _FAILURES as error:
            raise trouble.database_error(error) from error


def _rows(tag: str) -> int:
    """The number of rows in a command tag, such as `DELETE 3`."""
    return int(tag.rsplit(" ", 1)[-1])
