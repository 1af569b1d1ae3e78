"""Drives an application object directly: ASGI in this event loop, WSGI on threads."""

from __future__ import annotations

import asyncio
import inspect
import io
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from hapax_webhooks.errors import SetupError
from hapax_webhooks.source import Delivery
from hapax_webhooks.testing.tracing import Crash, Jitter, Tracer, traced

THREADS_MAX = 32


@dataclass(frozen=True)
class Answer:
    """The response to a delivery; no status if the application raised before it answered."""

    status: int | None
    body: bytes = b""
    error: BaseException | None = None

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300 and self.error is None

    def __str__(self) -> str:
        if self.error is not None:
            return "crashed" if isinstance(self.error, Crash) else f"raised {type(self.error).__name__}"
        return str(self.status)


class Caller(ABC):
    """A running application."""

    @abstractmethod
    async def one(self, delivery: Delivery, path: str, tracer: Tracer | None = None) -> Answer:
        """Delivers once."""

    @abstractmethod
    async def at_once(self, delivery: Delivery, path: str, times: int) -> list[Answer]:
        """Delivers several times at the same moment."""


class _Asgi(Caller):
    def __init__(self, app: Any, state: dict[str, Any]) -> None:
        self.app = app
        self.state = state

    async def one(self, delivery: Delivery, path: str, tracer: Tracer | None = None) -> Answer:
        return await _asgi(self.app, delivery, path, tracer, self.state)

    async def at_once(self, delivery: Delivery, path: str, times: int) -> list[Answer]:
        async with traced(Jitter()):
            return list(await asyncio.gather(*(self.one(delivery, path) for _ in range(times))))


class _Wsgi(Caller):
    """Waits on the caller's thread, without an event loop, in which Django's ORM could not be used."""

    def __init__(self, app: Any, threads: ThreadPoolExecutor) -> None:
        self.app = app
        self.threads = threads

    async def one(self, delivery: Delivery, path: str, tracer: Tracer | None = None) -> Answer:
        return self.threads.submit(_wsgi, self.app, delivery, path, tracer).result()

    async def at_once(self, delivery: Delivery, path: str, times: int) -> list[Answer]:
        submitted = [self.threads.submit(_wsgi, self.app, delivery, path, Jitter()) for _ in range(times)]
        return [answer.result() for answer in submitted]


@asynccontextmanager
async def serving(app: Any, *, lifespan: bool) -> AsyncIterator[Caller]:
    if is_asgi(app):
        async with _lifespan(app, enabled=lifespan) as state:
            yield _Asgi(app, state)
        return
    if not callable(app):
        raise SetupError(f"{type(app).__name__} is not an application; pass the ASGI or WSGI app object")
    with ThreadPoolExecutor(THREADS_MAX) as threads:
        yield _Wsgi(app, threads)


def is_asgi(app: Any) -> bool:
    if inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(getattr(app, "__call__", None)):  # noqa: B004
        return True
    try:
        return len(inspect.signature(app).parameters) == 3
    except (TypeError, ValueError):
        return False


def _target(delivery: Delivery, path: str) -> tuple[str, str]:
    """The path that is tested, and the query that the signer made."""
    own_path, _, own_query = path.partition("?")
    _, _, signed_query = delivery.path_query.partition("?")
    return own_path, own_query or signed_query


def _headers(delivery: Delivery) -> list[tuple[str, str]]:
    given = [
        (name.lower(), value) for name, value in delivery.headers if name.lower() not in ("host", "content-length")
    ]
    return [("host", "localhost"), ("content-length", str(len(delivery.body))), *given]


async def _asgi(app: Any, delivery: Delivery, path: str, tracer: Tracer | None, state: dict[str, Any]) -> Answer:
    target, query = _target(delivery, path)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": delivery.method,
        "scheme": "http",
        "path": unquote_to_bytes(target).decode(),
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in _headers(delivery)],
        "client": ("127.0.0.1", 50000),
        "server": ("localhost", 80),
        "state": dict(state),
    }
    status: int | None = None
    chunks: list[bytes] = []
    unread = [{"type": "http.request", "body": delivery.body, "more_body": False}]
    done = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if unread:
            return unread.pop()
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                done.set()

    try:
        # Background tasks of the response are part of this call.
        async with traced(tracer):
            await app(scope, receive, send)
    except (KeyboardInterrupt, SystemExit, asyncio.CancelledError):
        raise
    except BaseException as error:  # noqa: BLE001 (a crash is none of Exception, and no answer either)
        return Answer(status, b"".join(chunks), error)
    finally:
        done.set()
    return Answer(status, b"".join(chunks))


@asynccontextmanager
async def _lifespan(app: Any, *, enabled: bool) -> AsyncIterator[dict[str, Any]]:
    """Starts the application and stops it, if it takes part in that."""
    state: dict[str, Any] = {}
    if not enabled:
        yield state
        return
    inbound: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outbound: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": state}
    task = asyncio.ensure_future(app(scope, inbound.get, outbound.put))
    await inbound.put({"type": "lifespan.startup"})
    answer = asyncio.ensure_future(outbound.get())
    await asyncio.wait({task, answer}, return_when=asyncio.FIRST_COMPLETED)
    if not answer.done():
        # It raised or returned instead of answering: it has no lifespan.
        answer.cancel()
        await asyncio.gather(task, return_exceptions=True)
        yield state
        return
    started = answer.result()
    if started["type"] == "lifespan.startup.failed":
        await asyncio.gather(task, return_exceptions=True)
        raise SetupError(f"the application did not start: {started.get('message', 'see its log')}")
    try:
        yield state
    finally:
        await inbound.put({"type": "lifespan.shutdown"})
        await task


def _wsgi(app: Any, delivery: Delivery, path: str, tracer: Tracer | None) -> Answer:
    target, query = _target(delivery, path)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": delivery.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(target).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(delivery.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in _headers(delivery):
        key = name.upper().replace("-", "_")
        environ[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value
    started: list[int] = []

    def start_response(status: str, _headers: Any, exc_info: Any = None) -> Callable[[bytes], None]:
        if exc_info is not None:
            started.clear()
        started.append(int(status.split(" ", 1)[0]))
        return lambda _chunk: None

    previous = sys.gettrace()
    try:
        if tracer is not None:
            sys.settrace(tracer)
        chunks = app(environ, start_response)
        try:
            body = b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 (a crash is none of Exception, and no answer either)
        return Answer(started[-1] if started else None, b"", error)
    finally:
        if tracer is not None:
            sys.settrace(previous)
        _disconnect_django()
    return Answer(started[-1] if started else None, body)


def _disconnect_django() -> None:
    """Django's connections belong to a thread, and this one ends soon; an open one would keep a test database alive."""
    if "django.db" in sys.modules:
        from django.db import connections

        connections.close_all()
