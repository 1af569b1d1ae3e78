"""What a delivery changed: the difference of two states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any

Measure = dict[str, Any]
"""The parts of a state: numbers, rows (a Counter), or anything else as text."""


def measure(state: Any, name: str = "effects") -> Measure:
    if isinstance(state, Number) and not isinstance(state, bool):
        return {name: state}
    if hasattr(state, "keys"):
        parts = {str(key): state[key] for key in state.keys()}  # noqa: SIM118 (rows of drivers are no mappings)
        return _joined(parts, name)
    if isinstance(state, tuple):
        return _joined({str(place): value for place, value in enumerate(state)}, name)
    if isinstance(state, (list, set, frozenset)):
        return {name: Counter(repr(_row(row)) for row in state)}
    return {name: repr(state)}


def _joined(parts: Mapping[str, Any], name: str) -> Measure:
    found: Measure = {}
    for key, value in parts.items():
        found.update(measure(value, key if name == "effects" else f"{name}.{key}"))
    return found


def _row(row: Any) -> Any:
    return tuple(row[key] for key in row.keys()) if hasattr(row, "keys") else row  # noqa: SIM118


@dataclass(frozen=True)
class Change:
    """What is different, by part: a number, rows added and removed, or two texts."""

    parts: Mapping[str, Any]

    @classmethod
    def between(cls, before: Measure, after: Measure) -> Change:
        parts: dict[str, Any] = {}
        for name in [*before, *(name for name in after if name not in before)]:
            old, new = before.get(name), after.get(name)
            if old == new:
                continue
            if isinstance(old, Counter) or isinstance(new, Counter):
                was, now = old or Counter(), new or Counter()
                parts[name] = (now - was, was - now)
            elif isinstance(old, Number) and isinstance(new, Number):
                parts[name] = new - old  # type: ignore[operator]
            else:
                parts[name] = (old, new)
        return cls(parts)

    @property
    def is_nothing(self) -> bool:
        return not self.parts

    def shape(self) -> dict[str, Any]:
        """What can be compared with another delivery's: rows by their number, since they contain ids."""
        return {name: _shape(part) for name, part in self.parts.items()}

    def __str__(self) -> str:
        return ", ".join(f"{name} {_text(part)}" for name, part in self.parts.items()) or "nothing"


def _shape(part: Any) -> Any:
    if isinstance(part, tuple) and isinstance(part[0], Counter):
        return (part[0].total(), part[1].total())
    return "changed" if isinstance(part, tuple) else part


def _text(part: Any) -> str:
    if isinstance(part, tuple) and isinstance(part[0], Counter):
        added, removed = part
        signs = [("+", added), ("-", removed)]
        return " ".join(
            f"{sign}{row}" + (f" ({n} times)" if n > 1 else "") for sign, rows in signs for row, n in rows.items()
        )
    if isinstance(part, tuple):
        return f"{part[0]} -> {part[1]}"
    return f"{part:+}"


@dataclass(frozen=True)
class Effect:
    """What one delivery changes, and the parts that differ from one to the next, such as times, which do not count."""

    shape: Mapping[str, Any]
    noise: frozenset[str]
    sample: Change

    @classmethod
    def none(cls) -> Effect:
        return cls({}, frozenset(), Change({}))

    @classmethod
    def common(cls, one: Change, two: Change) -> Effect:
        a, b = one.shape(), two.shape()
        noise = {name for name in {*a, *b} if a.get(name) != b.get(name)}
        return cls({name: part for name, part in a.items() if name not in noise}, frozenset(noise), one)

    @property
    def is_nothing(self) -> bool:
        return not self.shape

    def is_changed_by(self, change: Change) -> bool:
        """Whether a change, which should be nothing, is something."""
        return any(name not in self.noise for name in change.parts)

    def is_exactly(self, change: Change, times: int = 1) -> bool:
        found = {name: part for name, part in change.shape().items() if name not in self.noise}
        return found == {name: _scaled(part, times) for name, part in self.shape.items()}

    def is_more(self, change: Change) -> bool:
        """Whether a change that is not exactly one effect has more than it, and not less."""
        found = change.shape()
        return any(_size(found.get(name)) > _size(part) for name, part in self.shape.items())


def _scaled(part: Any, times: int) -> Any:
    if isinstance(part, tuple):
        return tuple(count * times for count in part)
    return part if isinstance(part, str) else part * times


def _size(part: Any) -> Any:
    if part is None:
        return 0
    if isinstance(part, tuple):
        return sum(part)
    return 1 if isinstance(part, str) else abs(part)
