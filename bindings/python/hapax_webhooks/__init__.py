"""Makes every webhook take effect exactly once, in your own transaction.

A provider delivers an event at least once: after timeouts, lost responses and retries it arrives again, often at the same
moment. This package records each applied event in a table `hapax_inbox`, in the same database and the same transaction as
the effect. Both commit, or neither does, so a second delivery finds the record and does nothing.

Everything is imported when it is first used, so neither a framework nor a driver has to be installed.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from hapax_webhooks import alembic as alembic
    from hapax_webhooks import celery as celery
    from hapax_webhooks import django as django
    from hapax_webhooks import fastapi as fastapi
    from hapax_webhooks import flask as flask
    from hapax_webhooks import inbox as inbox
    from hapax_webhooks import outbox as outbox
    from hapax_webhooks import testing as testing
    from hapax_webhooks.claiming import Claim as Claim
    from hapax_webhooks.drivers.trouble import is_retryable as is_retryable
    from hapax_webhooks.errors import Broken as Broken
    from hapax_webhooks.errors import DatabaseError as DatabaseError
    from hapax_webhooks.errors import HapaxError as HapaxError
    from hapax_webhooks.errors import Invalid as Invalid
    from hapax_webhooks.errors import InvalidCall as InvalidCall
    from hapax_webhooks.errors import MissingTable as MissingTable
    from hapax_webhooks.errors import ParsedBody as ParsedBody
    from hapax_webhooks.errors import SetupError as SetupError
    from hapax_webhooks.errors import UnknownCommit as UnknownCommit
    from hapax_webhooks.errors import WrongTransaction as WrongTransaction
    from hapax_webhooks.event import Event as Event
    from hapax_webhooks.inbox import Inbox as Inbox
    from hapax_webhooks.inbox import Outcome as Outcome
    from hapax_webhooks.inbox import purge as purge
    from hapax_webhooks.observe import Handled as Handled
    from hapax_webhooks.outbox import Call as Call
    from hapax_webhooks.source import Delivery as Delivery
    from hapax_webhooks.source import Source as Source
    from hapax_webhooks.tables import create_tables as create_tables

_MODULES = frozenset({"alembic", "celery", "django", "fastapi", "flask", "inbox", "outbox", "testing"})
_NAMES = {
    "Broken": "errors",
    "Call": "outbox",
    "Claim": "claiming",
    "DatabaseError": "errors",
    "Delivery": "source",
    "Event": "event",
    "Handled": "observe",
    "HapaxError": "errors",
    "Inbox": "inbox",
    "Invalid": "errors",
    "InvalidCall": "errors",
    "MissingTable": "errors",
    "Outcome": "inbox",
    "ParsedBody": "errors",
    "SetupError": "errors",
    "Source": "source",
    "UnknownCommit": "errors",
    "WrongTransaction": "errors",
    "create_tables": "tables",
    "is_retryable": "drivers.trouble",
    "purge": "inbox",
}

__all__ = [*_NAMES, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _import_module(f"hapax_webhooks.{name}")
    if name in _NAMES:
        value: object = getattr(_import_module(f"hapax_webhooks.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'hapax_webhooks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
