"""A Celery task that applies each event once, however often the broker delivers the message.

@hapax_webhooks.celery.task(app, billing, session=pool)
def paid(event: Event, connection: psycopg.Connection) -> None:
    connection.execute(...)

paid.delay(event.to_dict())
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from celery import Celery

from hapax_webhooks import drivers
from hapax_webhooks.drivers.contract import finish
from hapax_webhooks.drivers.trouble import is_retryable
from hapax_webhooks.entering import entered
from hapax_webhooks.errors import SetupError
from hapax_webhooks.event import Event
from hapax_webhooks.inbox import Inbox

log = logging.getLogger("hapax_webhooks")


def task(
    app: Celery, inbox: Inbox, *, session: Any, retry_seconds: float = 1, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Makes a task of a function that takes the event and the session or connection. Call it with `event.to_dict()`.

    The claim is by the event's id, never the task's, in the task's own transaction. The task acknowledges late and is put
    back if its worker is killed, so the message outlives a crash. It returns the outcome's word: `processed`,
    `duplicate` or `conflict`. While another worker handles the same event, and after a transient failure of the
    database, it is retried. `options` are Celery's, such as `name`, `queue` and `max_retries`."""
    settings = {"acks_late": True, "reject_on_worker_lost": True, "max_retries": None, **options}
    if not settings["acks_late"]:
        raise SetupError("acks_late=False loses events when a worker dies; leave it out")

    def decorate(handler: Callable[..., Any]) -> Any:
        if inspect.iscoroutinefunction(handler):
            raise SetupError(
                f"the handler {handler.__name__} is `async def`, but Celery's workers are not; make it `def`"
            )
        settings.setdefault("name", f"{handler.__module__}.{handler.__name__}")
        takes_tx = len(inspect.signature(handler).parameters) >= 2

        def run(self: Any, message: dict[str, Any]) -> str:
            event = Event.from_dict(message)

            def work(tx: Any) -> Any:
                return handler(event, tx) if takes_tx else handler(event)

            try:
                with ExitStack() as stack:
                    unit = drivers.unit(entered(stack, session, "Celery"))
                    outcome = finish(inbox.running(unit, event, work))
            except Exception as error:
                if is_retryable(error):
                    raise self.retry(exc=error, countdown=retry_seconds) from error
                raise
            if outcome.word == "in_flight":
                raise self.retry(countdown=retry_seconds)
            if outcome.word == "conflict":
                log.warning("the event %s of %s came with another body before; nothing was run", event.id, event.source)
            return outcome.word

        run.__name__, run.__doc__, run.__module__ = handler.__name__, handler.__doc__, handler.__module__
        registered: Callable[..., Any] = app.task(bind=True, **settings)
        return registered(run)

    return decorate


__all__ = ["task"]
