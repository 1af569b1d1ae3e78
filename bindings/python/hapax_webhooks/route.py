"""What the routes of all frameworks share: from a verified request to its answer."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from hapax_webhooks import drivers
from hapax_webhooks.drivers.contract import Unit
from hapax_webhooks.errors import DatabaseError, MissingTable, SetupError, WrongTransaction
from hapax_webhooks.event import Event
from hapax_webhooks.inbox import Inbox
from hapax_webhooks.source import Received, Source

if TYPE_CHECKING:
    from hapax_webhooks._native import Reply, Word

log = logging.getLogger("hapax_webhooks")


_MISTAKES = (WrongTransaction, MissingTable, SetupError)
"""Of the application's configuration: the framework shows them to the developer, and answers 500."""


_SYNCHRONOUS = (
    "the handler is `async def`, but the database of `session` is synchronous: other requests would run inside its "
    "transaction while it waits; make the handler a plain `def`, or use an asynchronous driver"
)
_ASYNCHRONOUS = (
    "the database of `session` is asynchronous, but the handler is not; make the handler `async def`, or, where the "
    "framework has no event loop, use a synchronous driver"
)


class Framework(ABC):
    """How a framework's responses are made and read."""

    passes: tuple[type[BaseException], ...] = ()
    """Errors by which its handlers answer, such as HTTPException. They roll back like any other, and are raised on."""

    @abstractmethod
    def respond(self, reply: Reply) -> Any:
        """Our reply as a response of the framework."""

    @abstractmethod
    def response(self, value: Any) -> Any:
        """What a handler returned, as a response; None if it returned None."""

    @abstractmethod
    def status(self, response: Any) -> int:
        """The status of a response."""


class Route:
    """One webhook route: verify, claim, handle in the transaction, commit, answer."""

    def __init__(self, source: Source, inbox: Inbox | None, framework: Framework) -> None:
        if not isinstance(source, Source):
            raise SetupError(f"the first argument must be a Source, not {type(source).__name__}")
        if inbox is not None and not isinstance(inbox, Inbox):
            raise SetupError(f"the second argument must be an Inbox, not {type(inbox).__name__}")
        self.source = source
        self.inbox = inbox
        self.framework = framework
        self.raised: tuple[type[BaseException], ...] = (*framework.passes, *_MISTAKES)

    def refusal(self, received: Received) -> Any:
        """The response to a request without events."""
        assert received.reply is not None
        error = received.error
        if error is not None:
            log.warning("refused a delivery of %s: %s: %s; %s", self.source.name, error.code, error.message, error.hint)
        return self.framework.respond(received.reply)

    async def handle(
        self, events: Sequence[Event], db: Any, handler: Callable[[Event, Any], Any], *, is_async: bool = False
    ) -> Any:
        """Handles the events one after another, each in its own transaction, until the first failure. Every commit has
        happened when this returns. Never suspends if the handler is not asynchronous."""
        is_batch = len(events) != 1 or events[0].batch_index is not None
        ended: list[tuple[Word, str]] = []
        for event in events:
            unit = None if self.inbox is None else drivers.unit(db)
            if unit is not None and unit.is_async != is_async:
                raise WrongTransaction(_SYNCHRONOUS if is_async else _ASYNCHRONOUS)
            word, own = await self._one(event, unit, handler)
            if word is None:
                return own
            if own is not None and not is_batch:
                return own
            ended.append((word, event.id))
        return self.framework.respond(self.source.answer(ended))

    async def _one(
        self, event: Event, unit: Unit | None, handler: Callable[[Event, Any], Any]
    ) -> tuple[Word | None, Any]:
        """Handles one event. Returns its outcome and the handler's own response, if there is one; no outcome if the
        event must be delivered again."""
        framework = self.framework

        def work(tx: Any) -> Any:
            value = handler(event, tx)
            return self._awaited(value) if isawaitable(value) else self._own(value)

        try:
            if self.inbox is None or unit is None:
                value = work(None)
                return "processed", await value if isawaitable(value) else value
            outcome = await self.inbox.running(unit, event, work)
        except _Declined as declined:
            return None, declined.response
        except self.raised:
            raise
        except Exception as error:
            log.exception("the event %s of %s could not be handled; it will be delivered again", event.id, event.source)
            is_retryable = isinstance(error, DatabaseError) and error.is_retryable
            reply = self.source.answer_unavailable() if is_retryable else self.source.answer_failed()
            return None, framework.respond(reply)
        if outcome.word == "in_flight":
            return None, framework.respond(self.source.answer([("in_flight", event.id)]))
        if outcome.word == "conflict":
            log.warning("the event %s of %s came with another body before; nothing was run", event.id, event.source)
        return outcome.word, outcome.value

    async def _awaited(self, value: Awaitable[Any]) -> Any:
        return self._own(await value)

    def _own(self, value: Any) -> Any:
        """The handler's own response. Any other than 2xx rolls back: the provider retries, and must not find the event
        applied."""
        response = self.framework.response(value)
        if response is not None and not 200 <= self.framework.status(response) < 300:
            raise _Declined(response)
        return response


class _Declined(Exception):
    """The handler answered with a failure."""

    def __init__(self, response: Any) -> None:
        super().__init__("the handler answered with a failure")
        self.response = response
