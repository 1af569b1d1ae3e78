"""Metrics and traces: a hook that is called after each run, and an OpenTelemetry span around it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from hapax_webhooks.event import Event

log = logging.getLogger("hapax_webhooks")

HandledOutcome = Literal["processed", "duplicate", "in_flight", "conflict", "failed"]


@dataclass(frozen=True)
class Handled:
    """What happened to one event: for metrics."""

    source: str
    event_id: str
    type: str | None
    outcome: HandledOutcome
    seconds: float


@dataclass
class Observed:
    """Set to the outcome once there is one."""

    outcome: HandledOutcome = "failed"


@lru_cache(maxsize=1)
def tracer() -> Any:
    """The tracer, if the package `opentelemetry-api` is installed. Without an SDK, its spans cost next to nothing."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("hapax_webhooks")


@contextmanager
def observing(event: Event, on_handled: Callable[[Handled], None] | None) -> Iterator[Observed]:
    observed = Observed()
    began = time.perf_counter()
    with ExitStack() as stack:
        span = None
        if tracer() is not None:
            attributes = {"hapax.source": event.source, "hapax.event_id": event.id}
            if event.type is not None:
                attributes["hapax.event_type"] = event.type
            span = stack.enter_context(tracer().start_as_current_span("hapax.handle", attributes=attributes))
        try:
            yield observed
        finally:
            if span is not None:
                span.set_attribute("hapax.outcome", observed.outcome)
            if on_handled is not None:
                seconds = time.perf_counter() - began
                _tell(on_handled, Handled(event.source, event.id, event.type, observed.outcome, seconds))


def _tell(on_handled: Callable[[Handled], None], handled: Handled) -> None:
    try:
        on_handled(handled)
    except Exception:
        # The event is committed: a failing metric must not make the provider deliver it again.
        log.exception("on_handled failed for the event %s of %s", handled.event_id, handled.source)
