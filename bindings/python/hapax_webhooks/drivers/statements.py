"""The statements of the Rust drivers, with the placeholders of a Python driver."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from hapax_webhooks import _native

Dialect = Literal["postgres", "sqlite"]
Style = Literal["native", "qmark", "format", "named"]

_PLACEHOLDER = re.compile(r"[$?]([1-9][0-9]*)")
_VALUES = re.compile(r"VALUES\s*\((?P<row>.*)\)\s*(?P<conflict>ON CONFLICT .*)", re.DOTALL)

SAVEPOINT = "SAVEPOINT hapax_handler"
"""Under which a handler runs. Releasing it proves that the transaction can still commit: PostgreSQL answers the COMMIT of
a failed transaction with a rollback and reports success, and a handler that committed by itself has ended it."""
RELEASE = "RELEASE SAVEPOINT hapax_handler"
READ_COMMITTED = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"


@dataclass(frozen=True)
class Statement:
    """SQL, and which of the values goes to each of its placeholders; None if they are in order."""

    sql: str
    order: tuple[int, ...] | None

    def positional(self, values: Sequence[Any]) -> Sequence[Any]:
        return values if self.order is None else [values[place] for place in self.order]

    def named(self, values: Sequence[Any]) -> dict[str, Any]:
        """For `:p1`, which may occur twice."""
        return {f"p{number}": value for number, value in enumerate(values, start=1)}


@dataclass(frozen=True)
class Statements:
    """All statements of one dialect in one style."""

    claim: Statement
    """On PostgreSQL it returns a row for a first claim; on SQLite it affects one."""
    claim_within: Statement | None
    look_up: Statement
    extend: Statement
    purge: Statement
    stage: Statement


@cache
def statements(dialect: Dialect, style: Style) -> Statements:
    sql = _native.sql(dialect)

    def written(text: str) -> Statement:
        return _written(text, style)

    return Statements(
        claim=written(f"{sql['claim']} RETURNING 1" if dialect == "postgres" else sql["claim"]),
        claim_within=written(_within(sql["claim"])) if dialect == "postgres" else None,
        look_up=written(sql["look_up"]),
        extend=written(sql["extend"]),
        purge=written(sql["purge"]),
        stage=written(sql["stage"]),
    )


@cache
def create(dialect: Dialect) -> tuple[str, ...]:
    """The statements that create both tables, one by one. They contain no `;` in a string."""
    sql = _native.sql(dialect)
    text = re.sub(r"--[^\n]*", "", f"{sql['create_inbox']}\n{sql['create_outbox']}")
    return tuple(statement.strip() for statement in text.split(";") if statement.strip())


def _within(claim: str) -> str:
    """The claim with a limited wait, as one statement: `lock_timeout` is set by the row's source, which runs before the
    insert can wait, and set back in RETURNING, which runs once the row is there. If no row is inserted, the limit stays
    until the transaction ends or the savepoint is rolled back to; no handler runs in either case. It saves the round
    trips of setting the limit before the claim and lifting it afterwards."""
    matched = _VALUES.search(claim)
    if matched is None:
        raise AssertionError("the native claim is no longer INSERT … VALUES … ON CONFLICT")
    return f"""WITH hapax_wait AS MATERIALIZED (
        SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $7, true) AS limited)
    {claim[: matched.start()]}SELECT {matched["row"]} FROM hapax_wait
    {matched["conflict"]}
    RETURNING set_config('lock_timeout', (SELECT before FROM hapax_wait), true)"""  # noqa: S608 (constants only)


def _written(text: str, style: Style) -> Statement:
    numbers = [int(number) for number in _PLACEHOLDER.findall(text)]
    order = tuple(number - 1 for number in numbers)
    in_order = order == tuple(range(len(order)))
    match style:
        case "native":
            return Statement(text, None)
        case "named":
            # The space keeps a following cast (`::text`) apart from the name.
            return Statement(_PLACEHOLDER.sub(r":p\1 ", text), None)
        case "qmark":
            return Statement(_PLACEHOLDER.sub("?", text), None if in_order else order)
        case "format":
            return Statement(_PLACEHOLDER.sub("%s", text.replace("%", "%%")), None if in_order else order)
