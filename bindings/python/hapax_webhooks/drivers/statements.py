"""The statements of the Rust drivers, with the placeholders of a Python driver."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from hapax_webhooks import _native

if TYPE_CHECKING:
    from hapax_webhooks.claiming import Mark

Dialect = Literal["postgres", "sqlite"]
Style = Literal["native", "qmark", "format", "named"]

_PLACEHOLDER = re.compile(r"[$?]([1-9][0-9]*)")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]*", re.ASCII)

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
    """On PostgreSQL: the claim with a limited wait. If it returns no row, the limit stays until the transaction ends or the
    savepoint is rolled back to; no handler runs in either case."""
    look_up: Statement
    extend: Statement
    purge: Statement
    stage: Statement


@cache
def statements(dialect: Dialect, style: Style) -> Statements:
    sql = _native.sql(dialect)

    within = sql["claim_within"]

    def written(text: str) -> Statement:
        return _written(text, style)

    return Statements(
        claim=written(f"{sql['claim']} RETURNING 1" if dialect == "postgres" else sql["claim"]),
        claim_within=None if within is None else written(within),
        look_up=written(sql["look_up"]),
        extend=written(sql["extend"]),
        purge=written(sql["purge"]),
        stage=written(sql["stage"]),
    )


@dataclass(frozen=True)
class Prepared:
    """The claim with a limited wait as a statement that the database has prepared under a name. Its values are written into
    the text, so that it fits into the message that begins the transaction."""

    name: str
    prepare: str

    def execute(self, mark: Mark, wait: str) -> str:
        hashed = "NULL" if mark.body_hash is None else f"decode('{mark.body_hash.hex()}','hex')"
        return (
            f"EXECUTE {self.name}({_often(mark.scope)},{_literal(mark.event_id)},{_often(mark.consumer)},"
            f"{mark.generation:d},{hashed},{mark.retention_seconds:d},{_often(wait)})"
        )


@cache
def prepared_claim() -> Prepared:
    """Named after its text: another version of this package may share the connection through a pooler."""
    text = _native.sql("postgres")["claim_within"]
    assert text is not None
    name = f"hapax_claim_{_native.body_hash(text.encode()).hex()[:12]}"
    return Prepared(name, f"PREPARE {name} (text, text, text, integer, bytea, float8, text) AS {text}")


def _literal(text: str) -> str:
    """No character reaches the statement unless it is a letter, a digit or one of `_.-`. Everything else is written in
    hexadecimal, which no encoding and no setting of the database can read as anything else."""
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"convert_from(decode('{text.encode().hex()}','hex'),'UTF8')"


_often = lru_cache(maxsize=256)(_literal)


@cache
def create(dialect: Dialect) -> tuple[str, ...]:
    """The statements that create both tables, one by one. They contain no `;` in a string."""
    sql = _native.sql(dialect)
    text = re.sub(r"--[^\n]*", "", f"{sql['create_inbox']}\n{sql['create_outbox']}")
    return tuple(statement.strip() for statement in text.split(";") if statement.strip())


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
