"""What a driver's error means, whichever driver raised it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hapax_webhooks import _native
from hapax_webhooks.errors import Broken, DatabaseError, HapaxError, MissingTable, UnknownCommit

if TYPE_CHECKING:
    from hapax_webhooks._native import Trouble

_WORDS: dict[Trouble, str] = {
    "busy": "another transaction holds a lock that this one needs; deliver the event again",
    "victim": "the transaction lost to a concurrent one and nothing was written; run it again",
    "unavailable": "the database is unreachable or unavailable; try again later",
    "refused": "the database refused a statement",
}
_CREATE = (
    "the table does not exist; create it with hapax_webhooks.create_tables(db), or in a migration: "
    "hapax_webhooks.alembic.create_tables(op) for Alembic, INSTALLED_APPS += ['hapax_webhooks.django'] for Django"
)
_ENDED = frozenset({"25P01", "25P02", "3B001"})
"""No transaction, a failed one, or one without our savepoint."""
# Before Python 3.11, the module does not tell SQLite's code.
_SQLITE_CODES = {
    "database is locked": 5,
    "database table is locked": 6,
    "attempt to write a readonly database": 8,
    "disk I/O error": 10,
    "database or disk is full": 13,
    "unable to open database file": 14,
}


def is_retryable(error: BaseException) -> bool:
    """Whether to run the same event again immediately: after a deadlock or a serialization failure, also one that a
    handler raised, and after any transient failure of the inbox itself."""
    if isinstance(error, HapaxError):
        return error.is_retryable
    return trouble_of(error) == "victim"


def trouble_of(error: BaseException) -> Trouble | None:
    """The trouble that a driver's error, or the error that wraps it, is about; None if it is no driver's."""
    for cause in _chain(error):
        state = sqlstate(cause)
        if state is not None:
            return _native.trouble(state)
        if isinstance(cause, sqlite3.Error):
            return _native.sqlite_trouble(_sqlite_code(cause))
    for cause in _chain(error):
        if isinstance(cause, (OSError, TimeoutError)) or type(cause).__name__ in {"OperationalError", "InterfaceError"}:
            return _native.trouble(None)
    return None


def database_error(error: BaseException) -> DatabaseError:
    """The error for one that a driver raised before the commit."""
    if isinstance(error, DatabaseError):
        return error
    text = f"{type(error).__name__}: {error}"
    if any(sqlstate(cause) == "42P01" or "no such table" in str(cause) for cause in _chain(error)):
        for table in ("hapax_inbox", "hapax_outbox"):
            if table in text:
                return MissingTable(f"{table}: {_CREATE} ({text})", "refused")
    trouble = trouble_of(error) or "refused"
    return DatabaseError(f"{_WORDS[trouble]} ({text})", trouble)


def completion_error(error: BaseException) -> HapaxError:
    """The error for one that releasing the savepoint and committing, as one request, ended with."""
    for cause in _chain(error):
        if sqlstate(cause) in _ENDED:
            return broken(error)
    return commit_error(error)


def release_error(error: BaseException) -> HapaxError:
    """The error for one that releasing the savepoint ended with: nothing was committed."""
    known = database_error(error)
    return known if known.trouble == "unavailable" else broken(error)


def commit_error(error: BaseException) -> HapaxError:
    """The error for one that COMMIT ended with."""
    known = database_error(error)
    if known.trouble != "unavailable":
        return known
    return UnknownCommit(
        f"it is unknown whether the commit took effect; deliver the event again, and the inbox will detect a duplicate "
        f"({type(error).__name__}: {error})",
        known.trouble,
    )


def broken(error: object) -> Broken:
    return Broken(
        "the handler succeeded, but its transaction can no longer commit: a statement failed and its error was dropped, "
        "or the handler sent COMMIT or ROLLBACK itself; raise every error, and leave the transaction's end to the inbox "
        f"({error})"
    )


def sqlstate(error: BaseException) -> str | None:
    """PostgreSQL's code, as psycopg, asyncpg and psycopg2 name it."""
    for name in ("sqlstate", "pgcode"):
        state = getattr(error, name, None)
        if isinstance(state, str):
            return state
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it wraps: SQLAlchemy has them in `orig`, Django in `__cause__`."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        inner = getattr(found, "orig", None)
        found = inner if isinstance(inner, BaseException) else found.__cause__


def _sqlite_code(error: sqlite3.Error) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int):
        return code
    return next((code for text, code in _SQLITE_CODES.items() if text in str(error)), None)
