"""The plans: how an event is delivered more than once, and what must come of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, NoReturn

from hapax_webhooks.source import Delivery
from hapax_webhooks.testing.picture import Fault, Step, draw
from hapax_webhooks.testing.serve import Answer, Caller
from hapax_webhooks.testing.state import Change, Effect, Measure, measure
from hapax_webhooks.testing.tracing import Crasher, Tracer

AT_ONCE = 8
ROUNDS = 3
OTHERS = 5
REDELIVERIES_MAX = 3

_TO_DO = (
    "Claim the event's id under a unique constraint in the same transaction as its effect: if the id exists already, "
    "change nothing and answer 2xx; if applying the event fails, roll back both. @hapax_webhooks.….webhook does that."
)


@dataclass
class Rig:
    """The application under test."""

    caller: Caller
    deliveries: Sequence[Delivery]
    effects: Callable[[], Any]
    path: str
    effect: Effect
    has_loop: bool

    async def state(self) -> Measure:
        state = self.effects()
        if isawaitable(state):
            state = await state if self.has_loop else asyncio.run(_awaited(state))
        return measure(state)

    async def deliver(self, delivery: Delivery, tracer: Tracer | None = None) -> Answer:
        return await self.caller.one(delivery, self.path, tracer)


async def _awaited(state: Awaitable[Any]) -> Any:
    return await state


class Trial:
    """One try of a plan, step by step."""

    def __init__(self, rig: Rig, plan: str) -> None:
        self.rig = rig
        self.plan = plan
        self.steps: list[Step] = []
        self.start: Measure = {}
        self.state: Measure = {}

    async def begin(self) -> None:
        self.start = self.state = await self.rig.state()

    async def deliver(self, delivery: Delivery, label: str, tracer: Tracer | None = None) -> Step:
        answer = await self.rig.deliver(delivery, tracer)
        step = Step(label, delivery.event_id, answer, await self._changed())
        self.steps.append(step)
        return step

    async def _changed(self) -> Change:
        before, self.state = self.state, await self.rig.state()
        return Change.between(before, self.state)

    def total(self) -> Change:
        return Change.between(self.start, self.state)

    async def expect_success(self, delivery: Delivery, label: str) -> Change:
        step = await self.deliver(delivery, label)
        if not step.answer.is_success:
            self.fail(
                f"a delivery was answered with {step.answer}",
                "The handler does not accept this event at all, so nothing can be said about duplicates.",
                "Check the source's secret, the path, and that the handler understands the sample's body; pass "
                "sample(…, body=…) with a body like the provider's own.",
            )
        assert step.change is not None
        return step.change

    async def expect_effect(self, delivery: Delivery, label: str) -> None:
        change = await self.expect_success(delivery, label)
        if not self.rig.effect.is_exactly(change):
            self._wrong_total(change)

    async def expect_duplicate(self, delivery: Delivery, label: str = "duplicate") -> None:
        step = await self.deliver(delivery, label)
        assert step.change is not None
        if self.rig.effect.is_changed_by(step.change):
            self.fail(
                "a duplicate changed something",
                "The handler applied an event that it had applied before: what it has applied is not recorded, or is "
                "forgotten.",
            )
        if not step.answer.is_success:
            self.fail(
                f"a duplicate was answered with {step.answer}",
                "The event is applied, but the provider is told otherwise and retries until it gives up; some then "
                "disable the endpoint.",
                "Answer a duplicate with 2xx.",
            )

    def expect_total(self, times: int = 1) -> None:
        total = self.total()
        if not self.rig.effect.is_exactly(total, times):
            self._wrong_total(total)

    def _wrong_total(self, change: Change) -> NoReturn:
        if self.rig.effect.is_more(change):
            self.fail(
                f"the event took effect more than once: altogether {change}",
                "Two deliveries both found that the event was new: checking whether it was handled and recording that "
                "it was are not one atomic step, or nothing is recorded at all.",
            )
        self.fail(
            f"the event was lost, in whole or in part: altogether {change}",
            "The event was recorded as handled before it was applied, and applying it then failed; the provider retried "
            "and got a success response.",
        )

    def fail(self, fault: str, means: str, to_do: str = _TO_DO, marked: int | None = None) -> NoReturn:
        raise Fault(draw(self.rig.path, self.plan, fault, self.steps, self.rig.effect, means, to_do, marked))


async def _again(rig: Rig) -> None:
    for given in rig.deliveries:
        trial, event = Trial(rig, "again"), given.fresh()
        await trial.begin()
        if given is rig.deliveries[0]:
            await trial.expect_effect(event, "first")
        else:
            await trial.expect_success(event, "first")
        await trial.expect_duplicate(event)
        await trial.expect_duplicate(event, "duplicate again")


async def _concurrent(rig: Rig) -> None:
    for _ in range(ROUNDS):
        trial, event = Trial(rig, "concurrent"), rig.deliveries[0].fresh()
        await trial.begin()
        answers = await rig.caller.at_once(event, rig.path, AT_ONCE)
        change = await trial._changed()
        for number, answer in enumerate(answers, start=1):
            last = number == AT_ONCE
            trial.steps.append(Step(f"{number} of {AT_ONCE} at once", event.event_id, answer, change if last else None))
        if rig.effect.is_changed_by(change) or any(answer.is_success for answer in answers):
            trial.expect_total()
            await trial.expect_duplicate(event, "one more")
        else:
            # All were refused: then the next one applies it.
            await trial.expect_effect(event, "one more")


async def _late(rig: Rig) -> None:
    trial, event = Trial(rig, "late"), rig.deliveries[0].fresh()
    await trial.begin()
    await trial.expect_effect(event, "first")
    for number in range(1, OTHERS + 1):
        await trial.expect_effect(rig.deliveries[0].fresh(), f"other event {number}")
    await trial.expect_duplicate(event, "late duplicate")


async def _out_of_order(rig: Rig) -> None:
    one, two = rig.deliveries[0], rig.deliveries[-1]
    totals = []
    for order in ("in order", "out of order"):
        trial = Trial(rig, "out-of-order")
        await trial.begin()
        pair = [(one.fresh(), "earlier"), (two.fresh(), "later")]
        for event, label in pair if order == "in order" else pair[::-1]:
            await trial.expect_success(event, f"{label}, {order}")
        totals.append({name: part for name, part in trial.total().shape().items() if name not in rig.effect.noise})
        if totals[0] != totals[-1]:
            trial.fail(
                f"in another order the events have another effect: altogether {trial.total()}",
                "The handler relies on the order of deliveries, which no provider promises.",
                "Compare a version or time in the event with what is stored, and ignore what is older.",
            )
        for event, label in pair:
            await trial.expect_duplicate(event, f"duplicate of the {label}")


async def _tampered(rig: Rig) -> str | None:
    event = rig.deliveries[0].fresh()
    forged = event.tampered()
    query = forged.path_query.partition("?")[2]
    if event.source.receive(forged.method, query, forged.headers, forged.body).events is not None:
        return "not tried: this provider does not sign the body"
    trial = Trial(rig, "tampered")
    await trial.begin()
    step = await trial.deliver(forged, "tampered")
    assert step.change is not None
    if step.answer.is_success or rig.effect.is_changed_by(step.change):
        trial.fail(
            "a forged delivery was accepted",
            "The signature is not checked, or not over the raw body.",
            "Verify the signature over the exact bytes before anything else.",
        )
    await trial.expect_effect(event, "genuine")
    await trial.expect_duplicate(event)
    return None


async def _crash(rig: Rig) -> str | None:
    counter = Crasher(None)
    trial, event = Trial(rig, "crash"), rig.deliveries[0].fresh()
    await trial.begin()
    await trial.deliver(event, "traced", counter)
    trial.expect_total()
    if not counter.points:
        return "not tried: no line of the handler could be traced; before Python 3.12, run the test in a new event loop"
    for point in counter.chosen():
        await _crash_at(rig, point)
    return None


async def _crash_at(rig: Rig, point: int) -> None:
    tracer = Crasher(point)
    trial, event = Trial(rig, "crash"), rig.deliveries[0].fresh()
    await trial.begin()
    step = await trial.deliver(event, "crashed", tracer)
    if tracer.fired is not None:
        trial.steps[-1] = Step(f"crashed at {tracer.fired}", step.event_id, step.answer, step.change)
    for number in range(1, REDELIVERIES_MAX + 1):
        again = await trial.deliver(event, f"redelivery {number}")
        if again.answer.is_success:
            break
    trial.expect_total()
    await trial.expect_duplicate(event)


_RUN: dict[str, Callable[[Rig], Awaitable[str | None]]] = {
    "again": _again,
    "concurrent": _concurrent,
    "late": _late,
    "out-of-order": _out_of_order,
    "tampered": _tampered,
    "crash": _crash,
}
PLANS = tuple(_RUN)


async def run_plan(plan: str, rig: Rig) -> str | None:
    """Raises `Fault` if the plan finds one. Returns a note if it could not be tried."""
    return await _RUN[plan](rig)
