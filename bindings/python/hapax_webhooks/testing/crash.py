"""A failure at a chosen line of the handler, or between its work and the commit.

The lines of the application's own code are the points where a process may die. An error that no `except Exception`
catches is raised there, through Python's trace function: connections close and transactions roll back, as they would.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from types import FrameType
from typing import Any

import hapax_webhooks

CRASHES_MAX = 12

_PACKAGE = os.path.dirname(os.path.abspath(hapax_webhooks.__file__))
_DRIVERS = os.path.join(_PACKAGE, "drivers")


class Crash(BaseException):
    """The injected failure."""


class Tracer:
    """Counts the points that a delivery passes; raises at one of them."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.points: list[str] = []
        self.fired: str | None = None
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> Any:
        code = frame.f_code
        if code.co_name == "complete" and code.co_filename.startswith(_DRIVERS):
            self._pass("between the work and the commit")
            return None
        return self._line if _is_users(code.co_filename) else None

    def _line(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self._pass(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}")
        return self._line

    def _pass(self, point: str) -> None:
        with self._lock:
            number = len(self.points)
            self.points.append(point)
        if number == self.at:
            self.fired = point
            raise Crash(f"injected at {point}")

    def chosen(self) -> list[int]:
        """Where to crash: between work and commit, and at lines from the first to the last."""
        ends = [number for number, point in enumerate(self.points) if point.startswith("between")]
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
    sys.settrace(tracer)
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
