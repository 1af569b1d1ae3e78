"""The two tables, in the dialect of each database."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, overload

from hapax_webhooks import drivers
from hapax_webhooks.drivers.contract import finish
from hapax_webhooks.drivers.statements import Dialect, create

if TYPE_CHECKING:
    from hapax_webhooks.drivers.shapes import AsyncDatabase

_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('hapax.create_tables'))"
"""Several workers of a service start at once, and CREATE TABLE IF NOT EXISTS fails if another one creates the table."""


@overload
def create_tables(db: AsyncDatabase) -> Coroutine[Any, Any, None]: ...  # type: ignore[overload-overlap]
@overload
def create_tables(db: object) -> None: ...
def create_tables(db: object) -> Coroutine[Any, Any, None] | None:
    """Creates `hapax_inbox` and `hapax_outbox` unless they exist, in the database of the effect."""
    plain = drivers.plain(db)
    applied = plain.apply(ddl(plain.dialect))
    return applied if plain.is_async else finish(applied)


def ddl(dialect: Dialect) -> tuple[str, ...]:
    """The statements of `create_tables`, one by one."""
    return (_ONE_AT_A_TIME, *create(dialect)) if dialect == "postgres" else create(dialect)
