"""A claim: the row that records an applied event, and the result if the row exists already."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hapax_webhooks import _native
from hapax_webhooks.drivers.contract import Session
from hapax_webhooks.errors import DatabaseError
from hapax_webhooks.event import Event


class Claim(enum.Enum):
    """The result of a claim. True only for the first, so that `if await inbox.claim(tx, event):` is right."""

    FIRST = "first"
    """The event was not claimed before: this transaction applies it."""
    AGAIN = "again"
    """It was applied before."""
    OTHER_BODY = "other_body"
    """A different body was applied under this id before."""

    def __bool__(self) -> bool:
        return self is Claim.FIRST


class Mark(NamedTuple):
    """The row to write."""

    scope: str
    event_id: str
    consumer: str
    generation: int
    body_hash: bytes | None
    retention_seconds: int
    is_replayed: bool

    def against(self, stored: bytes | None) -> Claim:
        """Compares this claim with the existing row. An unknown hash never conflicts."""
        if self.body_hash is None or stored is None or bytes(stored) == self.body_hash:
            return Claim.AGAIN
        return Claim.OTHER_BODY


def marks(event: Event, consumer: str, retention_seconds: int) -> Sequence[Mark]:
    """The rows that claim an event, in order. All but the last bind a body that its provider did not sign."""
    mark = Mark(
        event.source,
        event.id,
        consumer,
        event.generation,
        event.body_hash,
        retention_seconds,
        event.replayed,
    )
    if event.binding is None:
        return (mark,)
    bound_id, bound_hash = event.binding
    return (mark._replace(event_id=bound_id, body_hash=bound_hash), mark)


async def claim(session: Session, wanted: Sequence[Mark]) -> Claim:
    """Claims in a transaction that someone else manages."""
    result = Claim.FIRST
    for mark in wanted:
        result = await _claim_one(session, mark)
        if result is Claim.OTHER_BODY:
            break
    return result


async def claim_within(session: Session, wanted: Sequence[Mark], wait: str, *, was_tried: bool) -> Claim:
    """Claims with a limited wait, in a transaction of a run that has done nothing else; the limit is lifted before any
    handler runs. `was_tried`: the first claim was made already, and inserted no row."""
    if session.dialect == "sqlite":
        # The connection's busy timeout limits the wait.
        return await claim(session, wanted)
    statement = session.statements.claim_within
    assert statement is not None
    for _ in range(_attempts()):
        for mark in wanted:
            if not was_tried and await session.first(statement, (*mark[:6], wait)) is not None:
                if mark is wanted[-1]:
                    return Claim.FIRST
                continue
            was_tried = False
            stored = await session.first(session.statements.look_up, mark[:4])
            if stored is None:
                # The row was purged between the two statements, so all of them can be claimed now.
                await session.execute(ROLL_BACK_TO_SAVEPOINT)
                break
            result = mark.against(stored[0])
            if mark is wanted[-1]:
                await _extend(session, mark)
                return result
            if result is Claim.OTHER_BODY:
                return result
            # Nothing was written yet. This lifts the limit, so that the next claim saves the right one.
            await session.execute(ROLL_BACK_TO_SAVEPOINT)
    raise _vanished()


ROLL_BACK_TO_SAVEPOINT = "ROLLBACK TO SAVEPOINT hapax_handler"


async def _claim_one(session: Session, mark: Mark) -> Claim:
    statements = session.statements
    for _ in range(_attempts()):
        if session.dialect == "sqlite":
            inserted = await session.affected(statements.claim, mark[:6]) == 1
        else:
            inserted = await session.first(statements.claim, mark[:6]) is not None
        if inserted:
            return Claim.FIRST
        stored = await session.first(statements.look_up, mark[:4])
        if stored is not None:
            await _extend(session, mark)
            return mark.against(stored[0])
        # The row was purged between the two statements, so it can be claimed now.
    raise _vanished()


async def _extend(session: Session, mark: Mark) -> None:
    if mark.is_replayed:
        await session.affected(session.statements.extend, (*mark[:4], mark.retention_seconds))


@lru_cache(maxsize=1)
def _attempts() -> int:
    return _native.limits()["claim_attempts_max"]


def _vanished() -> DatabaseError:
    return DatabaseError("the row of this event was repeatedly deleted by a purge; deliver the event again", "busy")
