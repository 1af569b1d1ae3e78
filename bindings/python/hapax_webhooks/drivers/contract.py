"""What every driver provides: statements inside a transaction, and one transaction from its begin to its end.

Everything is written once, as coroutines. A synchronous driver's coroutines never suspend, so `finish` runs them to their
end on the caller's stack, without an event loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from hapax_webhooks.drivers.statements import Dialect, Statement, Statements
from hapax_webhooks.errors import HapaxError

if TYPE_CHECKING:
    from hapax_webhooks.claiming import Mark

T = TypeVar("T")


class Session(ABC):
    """Statements inside an open transaction."""

    is_async: ClassVar[bool]
    dialect: Dialect
    statements: Statements
    connection: Any
    """The driver's object, by whose identity a staged call is known to be part of a run."""

    @abstractmethod
    async def first(self, statement: Statement, values: Sequence[Any]) -> Sequence[Any] | None:
        """The first row of the result. Raises `DatabaseError`, as do all of these."""

    @abstractmethod
    async def affected(self, statement: Statement, values: Sequence[Any]) -> int:
        """How many rows the statement affected."""

    @abstractmethod
    async def execute(self, sql: str) -> None:
        """Runs one statement without values."""

    async def check_open(self) -> None:  # noqa: B027 (most drivers need nothing)
        """Raises `WrongTransaction` unless what is written now commits or rolls back with what is written later."""


class Unit(ABC):
    """One transaction that a run begins and ends."""

    is_async: ClassVar[bool]
    session: Session
    tx: Any
    """What the handler receives."""
    has_begun: bool = False
    """Set once there is something to roll back. A connection with a transaction of the caller's own is refused before."""

    @abstractmethod
    async def begin(self) -> None:
        """Takes a connection if need be, and begins. On PostgreSQL, the savepoint exists afterwards."""

    async def begin_and_claim(self, mark: Mark, wait: str) -> bool | None:
        """Begins, and claims with a limited wait in the same round trip, if the driver can. Returns whether the row was
        inserted; None if that was not tried."""
        await self.begin()
        return None

    async def under_savepoint(self) -> None:  # noqa: B027 (most drivers need nothing)
        """Called after a first claim, before the handler. SQLite must not have a savepoint earlier: without an outer
        BEGIN, releasing it would commit."""

    @abstractmethod
    async def complete(self) -> None:
        """Releases the savepoint and commits. Raises `Broken`, `DatabaseError` or `UnknownCommit`."""

    @abstractmethod
    async def commit(self) -> None:
        """Commits after a duplicate."""

    @abstractmethod
    async def roll_back(self) -> None:
        """Rolls back. May fail: a lost connection has rolled back anyway."""

    async def close(self) -> None:  # noqa: B027 (most drivers need nothing)
        """Gives the connection back."""


class Plain(ABC):
    """A database outside of any run: for the tables and the purge."""

    is_async: ClassVar[bool]
    dialect: Dialect
    statements: Statements

    @abstractmethod
    async def apply(self, sql: Sequence[str]) -> None:
        """Runs the statements in one transaction; in the connection's own one, if it is open."""

    @abstractmethod
    async def count(self, statement: Statement, values: Sequence[Any]) -> int:
        """Runs one statement in a transaction, and returns how many rows it affected."""


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as stopped:
        result: T = stopped.value
        return result
    coroutine.close()
    raise HapaxError("a synchronous driver suspended; please report this as a bug of hapax-webhooks")
