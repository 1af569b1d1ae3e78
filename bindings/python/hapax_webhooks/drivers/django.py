"""PostgreSQL and SQLite through Django's connections: `django.db.connection`, or `connections["other"]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import DatabaseError as DjangoDatabaseError
from django.db import Error as DjangoError
from django.db import InterfaceError, connections, transaction
from django.db.transaction import TransactionManagementError

from hapax_webhooks.drivers import trouble
from hapax_webhooks.drivers.contract import Plain, Session, Unit
from hapax_webhooks.drivers.statements import (
    READ_COMMITTED,
    RELEASE,
    SAVEPOINT,
    Dialect,
    Statement,
    statements,
)
from hapax_webhooks.errors import WrongTransaction

_FAILURES = (DjangoDatabaseError, InterfaceError, DjangoError, OSError)


def session(given: Any) -> Session:
    return DjangoSession(_connection(given))


def unit(given: Any) -> Unit:
    return DjangoUnit(_connection(given))


def plain(given: Any) -> Plain:
    return DjangoPlain(_connection(given))


def _connection(given: Any) -> Any:
    alias = getattr(given, "alias", None)
    if not isinstance(alias, str) or not hasattr(given, "in_atomic_block"):
        raise WrongTransaction(
            f"a Django connection is needed, not {type(given).__name__}; pass django.db.connection, or connections['…'] "
            "of the database that the handler writes to"
        )
    return connections[alias]


def _dialect(connection: Any) -> Dialect:
    if connection.vendor == "postgresql":
        return "postgres"
    if connection.vendor == "sqlite":
        return "sqlite"
    raise WrongTransaction(f"the database {connection.vendor} is not supported; use PostgreSQL or SQLite")


class DjangoSession(Session):
    is_async = False

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.dialect = _dialect(connection)
        self.statements = statements(self.dialect, "format")

    async def first(self, statement: Statement, values: Sequence[Any]) -> Sequence[Any] | None:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(statement.sql, statement.positional(values))
                row: Sequence[Any] | None = cursor.fetchone()
        except _FAILURES as error:
            raise self._error(error) from error
        return row

    async def affected(self, statement: Statement, values: Sequence[Any]) -> int:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(statement.sql, statement.positional(values))
                return int(cursor.rowcount)
        except _FAILURES as error:
            raise self._error(error) from error

    async def execute(self, sql: str) -> None:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql)
        except _FAILURES as error:
            raise self._error(error) from error

    async def check_open(self) -> None:
        if not self.connection.in_atomic_block:
            raise WrongTransaction(
                "Django is in autocommit mode, so the claim would commit without your changes; claim inside "
                f"`with transaction.atomic(using={self.connection.alias!r}):`"
            )

    @staticmethod
    def _error(error: BaseException) -> BaseException:
        return error if isinstance(error, TransactionManagementError) else trouble.database_error(error)


class DjangoUnit(Unit):
    is_async = False

    def __init__(self, connection: Any) -> None:
        self.connection = self.tx = connection
        self.session = DjangoSession(connection)
        self.atomic: Any = None

    async def begin(self) -> None:
        is_outermost = not self.connection.in_atomic_block
        # Durable: inside another atomic block, this one would commit nothing. Test cases may nest it.
        atomic = transaction.atomic(using=self.connection.alias, durable=True)
        try:
            atomic.__enter__()
        except RuntimeError as error:
            raise WrongTransaction(
                "this code is already inside a transaction.atomic() block, or inside ATOMIC_REQUESTS; mark the view "
                "@transaction.non_atomic_requests, or use inbox.claim(connection, event) inside the block"
            ) from error
        except _FAILURES as error:
            raise trouble.database_error(error) from error
        self.atomic = atomic
        self.has_begun = True
        if self.session.dialect == "postgres":
            isolated = f"{READ_COMMITTED}; " if is_outermost else ""
            await self.session.execute(f"{isolated}{SAVEPOINT}")

    async def under_savepoint(self) -> None:
        if self.session.dialect == "sqlite":
            await self.session.execute(SAVEPOINT)

    async def complete(self) -> None:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(RELEASE)
        except _FAILURES as error:
            # A TransactionManagementError too: the handler marked the block for rollback.
            raise trouble.release_error(error) from error
        try:
            self._leave()
        except _FAILURES as error:
            raise trouble.commit_error(error) from error

    async def commit(self) -> None:
        try:
            self._leave()
        except _FAILURES as error:
            raise trouble.database_error(error) from error

    async def roll_back(self) -> None:
        if self.atomic is not None:
            self._leave(WrongTransaction("rolled back"))

    def _leave(self, error: Exception | None = None) -> None:
        atomic, self.atomic = self.atomic, None
        atomic.__exit__(None if error is None else type(error), error, None)


class DjangoPlain(Plain):
    is_async = False

    def __init__(self, connection: Any) -> None:
        self.session = DjangoSession(connection)
        self.dialect = self.session.dialect
        self.statements = self.session.statements

    async def apply(self, sql: Sequence[str]) -> None:
        with transaction.atomic(using=self.session.connection.alias):
            for statement in sql:
                await self.session.execute(statement)

    async def count(self, statement: Statement, values: Sequence[Any]) -> int:
        with transaction.atomic(using=self.session.connection.alias):
            return await self.session.affected(statement, values)
