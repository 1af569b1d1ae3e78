"""Delivers an event twice, in every way that providers do, and fails with a picture of which delivery changed what.

    async def test_paid_takes_effect_once(app, stripe, count):
        await twice(app, stripe.sample("invoice.paid"), effects=lambda: count("payments"))

The application is driven directly: any ASGI or WSGI app object, in process, with no server and no HTTP client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any

from hapax_webhooks.drivers.contract import finish
from hapax_webhooks.errors import SetupError
from hapax_webhooks.source import Delivery
from hapax_webhooks.testing.find import path_of
from hapax_webhooks.testing.picture import Fault, Report
from hapax_webhooks.testing.plans import PLANS, Rig, Trial, run_plan
from hapax_webhooks.testing.serve import is_asgi, serving
from hapax_webhooks.testing.state import Effect


class Twice(Awaitable[Report]):
    """A test that is under way, or done: await it inside an event loop; without one, it has run already."""

    def __init__(self, running: asyncio.Task[Report] | None, report: Report | None) -> None:
        self._running = running
        self._report = report

    def __await__(self) -> Generator[Any, None, Report]:
        if self._running is not None:
            return (yield from self._running.__await__())
        return self.report

    @property
    def report(self) -> Report:
        """Which plans were run, and which could not be."""
        if self._report is None:
            raise SetupError("the test still runs; write `await twice(…)`")
        return self._report


def twice(
    app: Any,
    delivery: Delivery | Sequence[Delivery],
    *,
    effects: Callable[[], Any],
    path: str | None = None,
    plans: Sequence[str] = PLANS,
    lifespan: bool = True,
) -> Twice:
    """Delivers `delivery` as each of the `plans` says, and raises `Fault`, an AssertionError, at the first one that
    finds a fault. Await it in an asynchronous test; in any other it runs at once.

    `effects` returns the state that the handler writes: a number, several (a tuple or a dict), or the rows as a list. It
    may be `async`. `path` is where the event is delivered; by default the route of the delivery's source. With two
    deliveries, `out-of-order` delivers them in both orders. `lifespan=False` leaves the application's startup to you.

    | plan | deliveries | expected |
    |---|---|---|
    | again | a duplicate right after the first was answered | one effect, and 2xx for the duplicate |
    | concurrent | eight at the same moment, three times | one effect; some may be refused meanwhile |
    | late | a duplicate after five other events | no further effect |
    | out-of-order | the later of two events first | the same effect as in order |
    | tampered | another body under the signature, then the genuine one | no 2xx and no effect; then one effect |
    | crash | the handler fails at a line, or between its work and the commit, and the event is delivered again | one effect |
    """
    deliveries = [delivery] if isinstance(delivery, Delivery) else list(delivery)
    if not deliveries or not all(isinstance(given, Delivery) for given in deliveries):
        raise SetupError("pass a delivery, such as source.sample('invoice.paid'), or a list of them")
    unknown = sorted(set(plans) - set(PLANS))
    if unknown:
        raise SetupError(f"no plan is named {', '.join(unknown)}; there are {', '.join(PLANS)}")
    if not callable(effects):
        raise SetupError("`effects` must be a function that returns the state, such as lambda: count('payments')")
    target = path_of(app, deliveries[0]) if path is None else path

    def running(*, has_loop: bool) -> Coroutine[Any, Any, Report]:
        return _run(app, deliveries, effects, target, plans, lifespan, has_loop)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if is_asgi(app):
            return Twice(None, asyncio.run(running(has_loop=True)))
        return Twice(None, finish(running(has_loop=False)))
    return Twice(asyncio.ensure_future(running(has_loop=True)), None)


async def _run(
    app: Any,
    deliveries: list[Delivery],
    effects: Callable[[], Any],
    path: str,
    plans: Sequence[str],
    lifespan: bool,
    has_loop: bool,
) -> Report:
    async with serving(app, lifespan=lifespan) as caller:
        rig = Rig(caller, deliveries, effects, path, Effect.none(), has_loop)
        await _learn(rig)
        results = [(plan, await run_plan(plan, rig)) for plan in plans]
    return Report(path, tuple(results))


async def _learn(rig: Rig) -> None:
    """The effect of one delivery: what two of them, under new ids, have in common."""
    trial = Trial(rig, "first")
    await trial.begin()
    # The first may create what later ones only change.
    await trial.expect_success(rig.deliveries[0].fresh(), "warm up")
    changes = [await trial.expect_success(rig.deliveries[0].fresh(), f"first delivery {number}") for number in (1, 2)]
    rig.effect = Effect.common(*changes)
    if rig.effect.is_nothing:
        trial.fail(
            "a delivery changed nothing that `effects` shows",
            "The handler did not run, the event has no effect under a new id, or `effects` looks elsewhere.",
            "Let `effects` return what the handler writes: a count of rows, a sum, the rows themselves.",
        )


__all__ = ["PLANS", "Fault", "Report", "Twice", "twice"]
