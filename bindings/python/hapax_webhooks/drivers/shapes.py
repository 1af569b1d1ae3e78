"""The shapes by which a type checker tells asynchronous database objects from synchronous ones."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol


class Executes(Protocol):
    """A connection, session or pool whose `execute` must be awaited."""

    def execute(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]: ...


class Disposes(Protocol):
    """SQLAlchemy's asynchronous engine."""

    def dispose(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]: ...


class TakesConnections(Protocol):
    """psycopg's asynchronous pool."""

    def getconn(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]: ...


class MakesSessions(Protocol):
    """SQLAlchemy's asynchronous session maker."""

    def __call__(self, *args: Any, **kwargs: Any) -> Executes: ...


AsyncTransaction = Executes
AsyncDatabase = Executes | Disposes | TakesConnections | MakesSessions
