"""What happens at the lines of the application's own code, through Python's trace function: a crash, or a short pause.

A crash is an error that no `except Exception` catches: connections close and transactions roll back, as they would if the
process died there, or between the work and the commit. Pauses let simultaneous deliveries overtake each other.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from random import Random
from types import FrameType
from typing import Any

import hapax_webhooks

CRASHES_MAX = 12
PAUSE_SECONDS_MAX = 0.002
BEFORE_COMMIT = "the end of the work, before the commit"

_PACKAGE = os.path.dirname(os.path.abspath(hapax_webhooks.__file__))
_DRIVERS = os.path.join(_PACKAGE, "drivers")


class Crash(BaseException):
    """The injected failure."""


class Tracer(ABC):
    """Is told of each point that a delivery passes."""

    traces_loop: bool
    """Whether to trace the event loop's own thread too, which asynchronous handlers run on."""

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> Any:
        code = frame.f_code
        if code.co_name == "complete" and code.co_filename.startswith(_DRIVERS):
            self.at_point(BEFORE_COMMIT)
            return None
        return self._line if _is_users(code.co_filename) else None

    def _line(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self.at_point(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}")
        return self._line

    @abstractmethod
    def at_point(self, point: str) -> None: ...


class Jitter(Tracer):
    """Pauses for a moment at every point."""

    traces_loop = False

    def __init__(self) -> None:
        self._random = Random()  # noqa: S311 (not for secrets)

    def at_point(self, _point: str) -> None:
        time.sleep(self._random.random() * PAUSE_SECONDS_MAX)


class Crasher(Tracer):
    """Counts the points that a delivery passes; raises at one of them."""

    traces_loop = True

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.points: list[str] = []
        self.fired: str | None = None
        self._lock = threading.Lock()

    def at_point(self, point: str) -> None:
        with self._lock:
            number = len(self.points)
            self.points.append(point)
        if number == self.at:
            self.fired = point
            raise Crash(f"injected at {point}")

    def chosen(self) -> list[int]:
        """Where to crash: between work and commit, and at lines from the first to the last."""
        ends = [number for number, point in enumerate(self.points) if point == BEFORE_COMMIT]
        lines = [number for number in range(len(self.points)) if number not in ends]
        room = max(CRASHES_MAX - len(ends), 2)
        if len(lines) > room:
            lines = [lines[place * (len(lines) - 1) // (room - 1)] for place in range(room)]
        return sorted({*lines, *ends[:CRASHES_MAX]})


@lru_cache(maxsize=1024)
def _is_users(filename: str) -> bool:
    """Whether it is the application's own code: not Python's, not a package's, not this one's."""
    if filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    paths = sysconfig.get_paths()
    foreign = [_PACKAGE, *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))]
    return not any(path.startswith(folder + os.sep) for folder in foreign)


@asynccontextmanager
async def traced(tracer: Tracer | None) -> AsyncIterator[None]:
    """Traces this thread, and those on which the event loop runs synchronous handlers."""
    if tracer is None:
        yield
        return
    previous, previous_of_threads = sys.gettrace(), threading.gettrace()
    everywhere = getattr(threading, "settrace_all_threads", None)
    if everywhere is None:
        threading.settrace(tracer)
        await _prime_worker(tracer)
    else:
        everywhere(tracer)
    sys.settrace(tracer if tracer.traces_loop else previous)
    try:
        yield
    finally:
        sys.settrace(previous)
        if everywhere is None:
            await _prime_worker(None)
        else:
            everywhere(None)
        threading.settrace(previous_of_threads)
        sys.settrace(previous)


async def _prime_worker(tracer: Tracer | None) -> None:
    """Before Python 3.12, a running thread can be traced only from within: the next synchronous handler runs on the
    worker that was idle last, which is the one that this runs on."""
    try:
        from anyio.to_thread import run_sync
    except ImportError:
        return
    await run_sync(sys.settrace, tracer)
