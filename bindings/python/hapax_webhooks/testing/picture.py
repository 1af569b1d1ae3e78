"""The picture of a failed plan: every delivery, its answer, and what it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hapax_webhooks.testing.serve import Answer
from hapax_webhooks.testing.state import Change, Effect


class Fault(AssertionError):
    """A plan found a fault in the handler."""


@dataclass(frozen=True)
class Report:
    """What was tried without finding a fault: each plan, and a note where it could not be tried in full."""

    path: str
    plans: tuple[tuple[str, str | None], ...]

    def __str__(self) -> str:
        lines = [f"{plan}: {'passed' if note is None else note}" for plan, note in self.plans]
        return "\n".join([f"POST {self.path}", *lines])


@dataclass(frozen=True)
class Step:
    """One delivery of a plan. Its change is unknown if others were under way at the same time."""

    label: str
    event_id: str
    answer: Answer
    change: Change | None


def draw(
    path: str, plan: str, fault: str, steps: Sequence[Step], effect: Effect, means: str, to_do: str, marked: int | None
) -> str:
    """The picture. `marked` is the step that shows the fault; by default the last."""
    marked = len(steps) - 1 if marked is None else marked
    rows = [("", "delivery", "event", "answer", "changed")]
    for number, step in enumerate(steps):
        change = "…" if step.change is None else str(step.change)
        rows.append((">" if number == marked else "", step.label, step.event_id, str(step.answer), change))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    table = [
        "  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
    body = _excerpt(steps[marked].answer) if steps else ""
    return "\n".join(
        [
            f"{plan}: {fault}",
            f"POST {path}",
            *table,
            *([f"  its answer: {body}"] if body else []),
            f"One delivery changes: {effect.sample}",
            f"It means: {means}",
            f"To do: {to_do}",
        ]
    )


def _excerpt(answer: Answer) -> str:
    if answer.error is not None:
        return f"{type(answer.error).__name__}: {answer.error}"
    return "" if answer.is_success else answer.body[:300].decode(errors="replace")
