"""Which driver an object belongs to. A driver's module is imported only once an object of it is seen."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from hapax_webhooks.drivers.contract import Plain, Session, Unit
from hapax_webhooks.errors import WrongTransaction

_DRIVERS = {
    "asyncpg": "asyncpg",
    "psycopg": "psycopg",
    "psycopg_pool": "psycopg",
    "sqlalchemy": "sqlalchemy",
    "sqlite3": "sqlite3",
    "_sqlite3": "sqlite3",
    "django": "django",
}
_ADVICE = {
    "psycopg2": "psycopg2 is not supported directly; use psycopg 3, or pass the SQLAlchemy session or Django connection",
    "aiosqlite": "aiosqlite is not supported directly; use sqlite3, or SQLAlchemy's AsyncSession on aiosqlite",
}


def session(given: Any) -> Session:
    """Statements in the open transaction of `given`. Refuses pools."""
    found: Session = _driver(given).session(given)
    return found


def unit(given: Any) -> Unit:
    """A transaction to be begun on `given`: a pool, an engine, a connection, a session."""
    found: Unit = _driver(given).unit(given)
    return found


def plain(given: Any) -> Plain:
    """The database of `given`."""
    found: Plain = _driver(given).plain(given)
    return found


def is_async(given: Any) -> bool:
    """Whether a run on `given` must be awaited."""
    return unit(given).is_async


def is_known(given: Any) -> bool:
    """Whether it is an object of a driver, and not a function that returns one."""
    return _name(type(given)) is not None


def _driver(given: Any) -> Any:
    return _driver_of(type(given))  # type: ignore[arg-type]  # mypy: every type is hashable


@lru_cache(maxsize=256)
def _driver_of(kind: type) -> Any:
    name = _name(kind)
    if name is None:
        roots = {base.__module__.split(".")[0] for base in kind.__mro__}
        advice = next((text for root, text in _ADVICE.items() if root in roots), None)
        raise WrongTransaction(
            f"{kind.__module__}.{kind.__qualname__} is not a database object that hapax_webhooks knows; "
            + (advice or "pass one of psycopg 3, asyncpg, SQLAlchemy 2, sqlite3 or Django")
        )
    return import_module(f"hapax_webhooks.drivers.{name}")


def _name(kind: type) -> str | None:
    """By module name, so that no driver has to be installed. A subclass belongs to the driver of its base."""
    for base in kind.__mro__:
        name = _DRIVERS.get(base.__module__.split(".")[0])
        if name is not None:
            return name
    return None
