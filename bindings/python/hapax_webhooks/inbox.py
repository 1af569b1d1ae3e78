"""The inbox: which events a consumer has applied, recorded in the transaction that applies them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from hapax_webhooks import _native, drivers, observe
from hapax_webhooks.claiming import Claim, claim, claim_within, marks
from hapax_webhooks.drivers.contract import Unit, finish
from hapax_webhooks.errors import DatabaseError, SetupError, WrongTransaction, from_native
from hapax_webhooks.event import Event
from hapax_webhooks.outbox import Origin, handled

if TYPE_CHECKING:
    from hapax_webhooks._native import Word
    from hapax_webhooks.drivers.shapes import AsyncDatabase, AsyncTransaction
    from hapax_webhooks.observe import Handled

T = TypeVar("T")

_RETENTION_SECONDS_MAX = 0xFFFF_FFFF
_WAIT_MS_MAX = 3_600_000


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The result of a run."""

    word: Word
    """`processed`: the handler ran and its changes are committed. `duplicate`: the event was applied before; the handler
    did not run. `in_flight`: another transaction is applying it right now, and whether it commits is not known yet;
    answer 503 so that the provider retries. `conflict`: a different body was applied under this id before; the handler
    did not run, compare both bodies before you act."""
    value: T | None = None
    """What the handler returned, if it ran."""


_DUPLICATE: Outcome[Any] = Outcome("duplicate")
_IN_FLIGHT: Outcome[Any] = Outcome("in_flight")
_CONFLICT: Outcome[Any] = Outcome("conflict")


class Inbox:
    """A consumer of events: its name, how long it remembers applied events, and how long a duplicate waits. Immutable.

    Two consumers of the same event each apply it once. The name is part of every row, so it must not change with a
    release or a host. `retention` must be longer than any provider, replay or restored backup may deliver an event
    again. `wait` is how long `run` waits for another transaction with the same claim before it returns `in_flight`; on
    SQLite the connection's busy timeout applies instead. `on_handled` is called after each run, for metrics.
    """

    __slots__ = ("_on_handled", "_retention_seconds", "_wait", "consumer")

    consumer: str
    _retention_seconds: int
    _wait: str
    _on_handled: Callable[[Handled], None] | None

    def __init__(
        self,
        consumer: str,
        *,
        retention: timedelta | None = None,
        wait: timedelta | None = None,
        on_handled: Callable[[Handled], None] | None = None,
    ) -> None:
        try:
            _native.check_name("consumer", consumer)
        except _native.NativeError as error:
            raise from_native(error) from None
        limits = _native.limits()
        # Compared with None, never for truth: a retention of zero is one.
        retention_seconds = (
            limits["retention_seconds_default"] if retention is None else _whole(retention, "retention", 1)
        )
        wait_ms = limits["wait_ms_default"] if wait is None else _whole(wait, "wait", 1000)
        put = object.__setattr__
        put(self, "consumer", consumer)
        put(self, "_retention_seconds", min(retention_seconds, _RETENTION_SECONDS_MAX))
        # Zero would mean no limit.
        put(self, "_wait", f"{min(max(wait_ms, 1), _WAIT_MS_MAX)}ms")
        put(self, "_on_handled", on_handled)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an Inbox does not change; create another one")

    def __repr__(self) -> str:
        return f"Inbox({self.consumer!r})"

    @overload
    def claim(self, tx: AsyncTransaction, event: Event) -> Coroutine[Any, Any, Claim]: ...  # type: ignore[overload-overlap]
    @overload
    def claim(self, tx: object, event: Event) -> Claim: ...
    def claim(self, tx: object, event: Event) -> Claim | Coroutine[Any, Any, Claim]:
        """Claims `event` in a transaction that you manage. If the result is true, apply the event, then commit; the
        claim commits with your changes. An asynchronous driver's result must be awaited.

        If another open transaction has claimed the same event, this waits for it, for as long as the connection's
        `lock_timeout` (PostgreSQL) or busy timeout (SQLite) allows. The transaction must be READ COMMITTED,
        PostgreSQL's default; on SQLite it should have begun IMMEDIATE. Never commit after one of your statements has
        failed: PostgreSQL would answer the COMMIT with a silent rollback. `run` takes care of that.
        """
        session = drivers.session(tx)
        wanted = marks(event, self.consumer, self._retention_seconds)

        async def claimed() -> Claim:
            await session.check_open()
            return await claim(session, wanted)

        return claimed() if session.is_async else finish(claimed())

    @overload
    def run(  # type: ignore[overload-overlap]
        self, db: object, event: Event, work: Callable[[Any], Coroutine[Any, Any, T]]
    ) -> Coroutine[Any, Any, Outcome[T]]: ...
    @overload
    def run(self, db: object, event: Event, work: Callable[[Any], T]) -> Outcome[T]: ...
    def run(
        self, db: object, event: Event, work: Callable[[Any], Any]
    ) -> Outcome[Any] | Coroutine[Any, Any, Outcome[Any]]:
        """Applies `event` once: begins a transaction on `db` (a pool, an engine, a session, an idle connection), claims
        the event, calls `work` with the connection or session, and commits. An error that `work` raises rolls back
        everything, including the claim, so the event can be delivered again."""
        unit = drivers.unit(db)
        running = self.running(unit, event, work)
        return running if unit.is_async else finish(running)

    async def running(self, unit: Unit, event: Event, work: Callable[[Any], Any]) -> Outcome[Any]:
        """`run` as a coroutine, which never suspends on a synchronous driver."""
        if self._on_handled is None and observe.tracer() is None:
            return await self._apply(unit, event, work)
        with observe.observing(event, self._on_handled) as observed:
            outcome = await self._apply(unit, event, work)
            observed.outcome = outcome.word
            return outcome

    async def _apply(self, unit: Unit, event: Event, work: Callable[[Any], Any]) -> Outcome[Any]:
        try:
            outcome = await self._begin_and_work(unit, event, work)
        except BaseException as error:
            await _abandon(unit)
            if isinstance(error, _Busy):
                return _IN_FLIGHT
            raise
        await unit.close()
        return outcome

    async def _begin_and_work(self, unit: Unit, event: Event, work: Callable[[Any], Any]) -> Outcome[Any]:
        wanted = marks(event, self.consumer, self._retention_seconds)
        try:
            is_inserted = await (unit.begin() if len(wanted) > 1 else unit.begin_and_claim(wanted[0], self._wait))
            if is_inserted:
                result = Claim.FIRST
            else:
                was_tried = is_inserted is not None
                result = await claim_within(unit.session, wanted, self._wait, was_tried=was_tried)
        except DatabaseError as error:
            if error.trouble == "busy":
                raise _Busy from error
            raise
        if result is Claim.AGAIN:
            # Commit, because a replay may have extended the row.
            await unit.commit()
            return _DUPLICATE
        if result is Claim.OTHER_BODY:
            await unit.roll_back()
            return _CONFLICT
        await unit.under_savepoint()
        token = handled.set(Origin(event, self.consumer, unit.session.connection))
        try:
            value = work(unit.tx)
            if isawaitable(value):
                _check_async(unit, value)
                value = await value
        finally:
            handled.reset(token)
        await unit.complete()
        return Outcome("processed", value)


class _Busy(Exception):
    """Another transaction holds the claim."""


def _check_async(unit: Unit, value: Any) -> None:
    if unit.is_async:
        return
    if iscoroutine(value):
        value.close()
    raise WrongTransaction(
        "the handler is asynchronous, but its database is not: other requests would run inside its transaction while it "
        "waits; make the handler a plain `def`, or use an asynchronous driver"
    )


async def _abandon(unit: Unit) -> None:
    """Rolls back and gives the connection back. Also if the task is being cancelled, and cancelled again."""
    ending = _end(unit)
    if unit.is_async:
        await asyncio.shield(asyncio.ensure_future(ending))
    else:
        await ending


async def _end(unit: Unit) -> None:
    # The error that led here is what matters; a lost connection has rolled back anyway.
    with contextlib.suppress(Exception):
        if unit.has_begun:
            await unit.roll_back()
    with contextlib.suppress(Exception):
        await unit.close()


def _whole(duration: timedelta, what: str, per_second: int) -> int:
    if not isinstance(duration, timedelta):
        raise SetupError(f"`{what}` must be a datetime.timedelta, not {type(duration).__name__}")
    if duration < timedelta(0):
        raise SetupError(f"`{what}` must not be negative")
    return duration * per_second // timedelta(seconds=1)


@overload
def purge(db: AsyncDatabase, rows_max: int = 1000) -> Coroutine[Any, Any, int]: ...  # type: ignore[overload-overlap]
@overload
def purge(db: object, rows_max: int = 1000) -> int: ...
def purge(db: object, rows_max: int = 1000) -> int | Coroutine[Any, Any, int]:
    """Deletes up to `rows_max` expired rows, and returns how many were deleted. Call it periodically, each time until it
    returns fewer than `rows_max`; one call is one short transaction of at most 10,000 rows."""
    plain = drivers.plain(db)
    rows = min(rows_max, _native.limits()["purge_rows_max"])
    purged = plain.count(plain.statements.purge, (rows,))
    return purged if plain.is_async else finish(purged)


__all__ = ["Claim", "Inbox", "Outcome", "purge"]
