"""The outbox: calls to other systems, written with the effect and made after it is committed.

A call made inside a transaction cannot be undone if the transaction rolls back, and a call made after the commit is lost
if the process dies in between. A row in `hapax_outbox` avoids both: once it is committed, Hapax makes the call, with the
row's `Idempotency-Key`, and retries as often as necessary.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from hapax_webhooks import _native, drivers
from hapax_webhooks.drivers.contract import Session, finish
from hapax_webhooks.errors import InvalidCall, from_native
from hapax_webhooks.event import Event

if TYPE_CHECKING:
    from hapax_webhooks.drivers.shapes import AsyncTransaction


@dataclass(frozen=True)
class Call:
    """A call to another system, to be made after the commit: `Call.http(url, …)` or `Call.destination(name, …)`."""

    kind: Literal["http", "destination"]
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    key: str | None = None
    """An explicit `Idempotency-Key`, if the receiver expects a certain one."""
    order_key: str | None = None
    """Calls with the same order key are made one after another, in the order in which they were staged."""

    @classmethod
    def http(cls, url: str, **parts: Any) -> Call:
        """A POST request to `url`."""
        return cls._made("http", url, **parts)

    @classmethod
    def destination(cls, name: str, **parts: Any) -> Call:
        """A delivery to the destination with this name in hapax.toml, with its retries, limits and signature."""
        return cls._made("destination", name, **parts)

    @classmethod
    def _made(
        cls,
        kind: Literal["http", "destination"],
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
        json_body: Any = None,
        key: str | None = None,
        order_key: str | None = None,
    ) -> Call:
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if json_body is not None:
            body = json.dumps(json_body, separators=(",", ":"))
            sent.setdefault("content-type", "application/json")
        raw = body.encode() if isinstance(body, str) else body
        if not isinstance(raw, bytes):
            raise InvalidCall(
                f"the call's body must be bytes or a string, not {type(raw).__name__}; or pass json_body=…"
            )
        return cls(kind, target, sent, raw, key, order_key)


@dataclass
class Origin:
    """The event being handled, the consumer that handles it, and how many calls it has staged."""

    event: Event
    consumer: str
    connection: Any
    staged: int = 0

    def next_key(self) -> str:
        """The key of the next call. A run after a rollback stages the same calls with the same keys."""
        number, event = self.staged, self.event
        self.staged += 1
        return _native.call_key(event.source, event.id, event.generation, self.consumer, number)


handled: ContextVar[Origin | None] = ContextVar("hapax_handled", default=None)
"""Set while a handler runs: the calls that it stages on this connection belong to its event."""


@overload
def stage(tx: AsyncTransaction, call: Call) -> Coroutine[Any, Any, None]: ...  # type: ignore[overload-overlap]
@overload
def stage(tx: object, call: Call) -> None: ...
def stage(tx: object, call: Call) -> Coroutine[Any, Any, None] | None:
    """Writes `call` to the outbox, in this transaction. An asynchronous driver's result must be awaited.

    A call without a key gets one: inside `Inbox.run` it is derived from the event, the consumer and the call's number in
    the run; in a transaction of your own it is random. In both cases the key is stored in the row and stays the same for
    every attempt."""
    session = drivers.session(tx)
    origin = handled.get()
    if origin is not None and origin.connection is not session.connection:
        origin = None
    key = call.key
    if origin is not None:
        numbered = origin.next_key()
        key = numbered if key is None else key
    try:
        headers = _native.check_call(call.kind, call.target, call.headers, call.body, call.key, call.order_key)
    except _native.NativeError as error:
        raise from_native(error) from None
    staging = _stage(session, call, headers, key, origin)
    return staging if session.is_async else finish(staging)


async def _stage(session: Session, call: Call, headers: str, key: str | None, origin: Origin | None) -> None:
    await session.check_open()
    event = None if origin is None else origin.event
    values = (
        None if origin is None else origin.consumer,
        None if event is None else event.source,
        None if event is None else event.id,
        call.kind,
        call.target,
        headers,
        call.body,
        key,
        call.order_key,
    )
    await session.affected(session.statements.stage, values)
