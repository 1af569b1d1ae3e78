"""SQLite through the standard library's `sqlite3`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from hapax_webhooks.drivers import trouble
from hapax_webhooks.drivers.contract import Plain, Session, Unit
from hapax_webhooks.drivers.statements import RELEASE, SAVEPOINT, Statement, statements
from hapax_webhooks.errors import WrongTransaction


def session(given: Any) -> Session:
    return SqliteSession(_connection(given))


def unit(given: Any) -> Unit:
    return SqliteUnit(_connection(given))


def plain(given: Any) -> Plain:
    return SqlitePlain(_connection(given))


def _connection(given: Any) -> sqlite3.Connection:
    if isinstance(given, sqlite3.Cursor):
        given = given.connection
    if not isinstance(given, sqlite3.Connection):
        raise WrongTransaction(f"a sqlite3.Connection is needed, not {type(given).__name__}")
    try:
        given.in_transaction  # noqa: B018
        given.total_changes  # noqa: B018
    except sqlite3.ProgrammingError as error:
        raise WrongTransaction(f"the connection cannot be used: {error}; pass one that is open") from error
    return given


def is_implicit(connection: sqlite3.Connection) -> bool:
    """Whether the module itself keeps a transaction open at all times (`autocommit=False`, Python 3.12)."""
    return getattr(connection, "autocommit", None) is False


def commits_alone(connection: Any) -> bool:
    """Whether a statement that is run now would commit by itself."""
    if connection.in_transaction:
        return False
    autocommit = getattr(connection, "autocommit", None)
    return autocommit is True or (autocommit is not False and connection.isolation_level is None)


class SqliteSession(Session):
    is_async = False
    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.statements = statements("sqlite", "qmark")

    async def first(self, statement: Statement, values: Sequence[Any]) -> Sequence[Any] | None:
        cursor = self._run(statement.sql, statement.positional(values))
        row: Sequence[Any] | None = cursor.fetchone()
        return row

    async def affected(self, statement: Statement, values: Sequence[Any]) -> int:
        return self._run(statement.sql, statement.positional(values)).rowcount

    async def execute(self, sql: str) -> None:
        self._run(sql, ())

    async def check_open(self) -> None:
        if commits_alone(self.connection):
            raise WrongTransaction(
                "the connection is in autocommit mode and no transaction is open, so the claim would commit without your "
                "changes; run connection.execute('BEGIN IMMEDIATE') first"
            )

    def _run(self, sql: str, values: Sequence[Any]) -> sqlite3.Cursor:
        # A cursor of its own, because the connection may have a row factory.
        cursor = sqlite3.Cursor(self.connection)
        cursor.row_factory = None
        try:
            return cursor.execute(sql, values)
        except sqlite3.Error as error:
            raise trouble.database_error(error) from error


class SqliteUnit(Unit):
    """Every statement that ends a transaction is sent as SQL: `commit()` does nothing in some of the module's modes."""

    is_async = False

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = self.tx = connection
        self.session = SqliteSession(connection)

    async def begin(self) -> None:
        if is_implicit(self.connection):
            self.has_begun = True
            # Always inside a transaction; the claim, its first write, takes the lock.
            return
        if self.connection.in_transaction:
            raise WrongTransaction(
                "the connection already has an open transaction; commit it first, or use inbox.claim(connection, event) "
                "inside it"
            )
        await self.session.execute("BEGIN IMMEDIATE")
        self.has_begun = True

    async def under_savepoint(self) -> None:
        await self.session.execute(SAVEPOINT)

    async def complete(self) -> None:
        try:
            # The savepoint no longer exists if SQLite or the handler ended the transaction.
            self.connection.execute(RELEASE)
        except sqlite3.Error as error:
            raise trouble.broken(error) from error
        try:
            self._end("COMMIT")
        except sqlite3.Error as error:
            raise trouble.commit_error(error) from error

    async def commit(self) -> None:
        try:
            self._end("COMMIT")
        except sqlite3.Error as error:
            raise trouble.database_error(error) from error

    async def roll_back(self) -> None:
        if self.connection.in_transaction:
            self._end("ROLLBACK")

    def _end(self, sql: str) -> None:
        if not is_implicit(self.connection):
            self.connection.execute(sql)
        elif sql == "COMMIT":
            self.connection.commit()
        else:
            self.connection.rollback()


class SqlitePlain(Plain):
    is_async = False
    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.statements = statements("sqlite", "qmark")

    async def apply(self, sql: Sequence[str]) -> None:
        # Not executescript(), which would commit the caller's transaction first.
        await self._in_transaction([Statement(text, None) for text in sql], ())

    async def count(self, statement: Statement, values: Sequence[Any]) -> int:
        return await self._in_transaction([statement], values)

    async def _in_transaction(self, wanted: Sequence[Statement], values: Sequence[Any]) -> int:
        connection = self.connection
        is_ours = is_implicit(connection) or not connection.in_transaction
        rows = 0
        try:
            if is_ours and not is_implicit(connection):
                connection.execute("BEGIN IMMEDIATE")
            for statement in wanted:
                rows = connection.execute(statement.sql, statement.positional(values)).rowcount
            if is_implicit(connection):
                connection.commit()
            elif is_ours:
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            if is_ours and connection.in_transaction:
                connection.rollback() if is_implicit(connection) else connection.execute("ROLLBACK")
            raise trouble.database_error(error) from error
        return rows
