"""Where a synchronous route or task gets its database object from."""

from __future__ import annotations

import inspect
from contextlib import ExitStack, contextmanager
from typing import Any

from hapax_webhooks import drivers
from hapax_webhooks.errors import SetupError


def entered(stack: ExitStack, session: Any, framework: str) -> Any:
    """The object itself, or what a function returns or yields until the stack is left."""
    db = session if session is None or drivers.is_known(session) else _called(stack, session)
    if db is not None and drivers.is_async(db):
        raise SetupError(f"the database of `session` is asynchronous; in {framework}, use a synchronous driver")
    return db


def _called(stack: ExitStack, session: Any) -> Any:
    if inspect.isgeneratorfunction(session):
        return stack.enter_context(contextmanager(session)())
    value = session()
    # A function decorated with @contextmanager. Connections and sessions have __enter__ too, but are used as they are.
    return value if drivers.is_known(value) or not hasattr(value, "__enter__") else stack.enter_context(value)
