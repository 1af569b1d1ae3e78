"""Webhooks in FastAPI and Starlette: verified before anything is parsed, applied once, committed before the response.

@app.post("/webhooks/stripe")
@hapax_webhooks.fastapi.webhook(stripe, billing, session=get_session)
async def paid(event: Event, session: AsyncSession) -> None:
    await session.execute(...)
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import Any, get_type_hints

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hapax_webhooks import _native, drivers
from hapax_webhooks._native import Reply
from hapax_webhooks.drivers.contract import finish
from hapax_webhooks.errors import ParsedBody, SetupError
from hapax_webhooks.event import Event
from hapax_webhooks.inbox import Inbox
from hapax_webhooks.route import Framework, Route
from hapax_webhooks.source import Source

_SESSION = "hapax_session"


class _Response(Response):
    """Made of what is known already, on a path that every delivery takes."""

    def __init__(self, reply: Reply) -> None:
        self.status_code = reply.status
        self.body = reply.body
        self.background = None
        self.raw_headers = [(name.encode(), value.encode("latin-1")) for name, value in reply.headers]
        self.raw_headers.append((b"content-length", b"%d" % len(reply.body)))


class _Starlette(Framework):
    passes = (HTTPException,)

    def respond(self, reply: Reply) -> Response:
        return _Response(reply)

    def response(self, value: Any) -> Response | None:
        if value is None or isinstance(value, Response):
            return value
        try:
            from fastapi.encoders import jsonable_encoder
        except ImportError:
            return JSONResponse(value)
        return JSONResponse(jsonable_encoder(value))

    def status(self, response: Any) -> int:
        return int(response.status_code)


def webhook(
    source: Source, inbox: Inbox | None = None, *, session: Any = None
) -> Callable[[Callable[..., Any]], Callable[..., Awaitable[Response]]]:
    """Makes a route of a function that takes the event and the session or connection.

    `session` is where the work is done: a dependency that returns a session, connection or pool (a function, as for
    `Depends`; it may `yield`), or such an object itself. The transaction begins with the claim and is committed before
    the response is sent, whatever the dependency does after its `yield`. Further parameters are FastAPI's, as usual.

    A `def` handler runs in a thread and needs a synchronous driver. If the function returns None, the provider is
    answered as it expects. It may return a response of its own; any other than 2xx rolls back, as does any error. Without
    `inbox`, the event is only verified: for handlers that hand it to a queue."""
    if inbox is not None and session is None:
        raise SetupError("pass session=…: the dependency or pool in whose transaction the event is claimed")
    if inbox is None and session is not None:
        raise SetupError("pass an Inbox as the second argument: without it, the session would not be used")
    route = Route(source, inbox, _Starlette())

    def decorate(handler: Callable[..., Any]) -> Callable[..., Awaitable[Response]]:
        return _endpoint(route, handler, session)

    return decorate


def _endpoint(route: Route, handler: Callable[..., Any], session: Any) -> Callable[..., Awaitable[Response]]:
    parameters = list(inspect.signature(handler).parameters.values())
    wanted = 1 if route.inbox is None else 2
    if not parameters:
        raise SetupError(f"the handler {handler.__name__} must take the event as its first parameter")
    takes_tx = wanted == 2 and len(parameters) >= 2
    others = [_resolved(handler, parameter) for parameter in parameters[wanted if takes_tx else 1 :]]
    is_async = inspect.iscoroutinefunction(handler)
    is_given = session is None or drivers.is_known(session)
    plain = None if is_given else _plain(session)
    source = route.source

    async def endpoint(request: Request, **given: Any) -> Response:
        scope = request.scope
        body = await _body(request, source)
        if isinstance(body, Reply):
            return route.framework.respond(body)  # type: ignore[no-any-return]
        received = await source.areceive(
            scope["method"], scope["query_string"].decode("latin-1"), scope["headers"], body
        )
        if received.events is None:
            return route.refusal(received)  # type: ignore[no-any-return]

        def called(event: Event, tx: Any) -> Any:
            return handler(event, tx, **given) if takes_tx else handler(event, **given)

        if is_given:
            return await _handled(route, received.events, session, called, is_async)
        if _SESSION in given:
            return await _handled(route, received.events, given.pop(_SESSION), called, is_async)
        overrides = getattr(request.app, "dependency_overrides", {})
        if plain is not None and session not in overrides:
            return await _handled(route, received.events, await plain(request), called, is_async)
        async with AsyncExitStack() as stack:
            # Starlette has no dependencies.
            db = await _entered(stack, overrides.get(session, session), request)
            return await _handled(route, received.events, db, called, is_async)

    functools.update_wrapper(endpoint, handler)
    del endpoint.__wrapped__  # type: ignore[attr-defined]
    endpoint.__hapax_source__ = source.name  # type: ignore[attr-defined]
    endpoint.__signature__ = _signature(others, None if is_given or plain is not None else session)  # type: ignore[attr-defined]
    endpoint.__annotations__ = {"return": Response}
    return endpoint


async def _handled(
    route: Route, events: tuple[Event, ...], db: Any, called: Callable[[Event, Any], Any], is_async: bool
) -> Response:
    handling = route.handle(events, db, called, is_async=is_async)
    response: Response = await (handling if is_async else run_sync(finish, handling))
    return response


def _signature(others: list[inspect.Parameter], session: Any) -> inspect.Signature:
    """What FastAPI sees: the request, the session's dependency, and the handler's further parameters."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)]
    if session is not None:
        depends = _depends(session)
        if depends is not None:
            parameters.append(inspect.Parameter(_SESSION, kind, default=depends, annotation=Any))
    for parameter in others:
        if parameter.annotation is Request or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise SetupError(
                f"the handler's parameter `{parameter.name}` is not available: the event has the request's body, its "
                "headers are verified already"
            )
        parameters.append(parameter.replace(kind=kind))
    return inspect.Signature(parameters, return_annotation=Response)


def _plain(session: Any) -> Callable[[Request], Awaitable[Any]] | None:
    """How to call an `async def` that takes nothing, or the request. That is all that FastAPI would do with it, and costs
    a tenth."""
    if not inspect.iscoroutinefunction(session):
        return None
    parameters = [_resolved(session, parameter) for parameter in inspect.signature(session).parameters.values()]
    if not parameters:
        return lambda _request: session()
    return session if [parameter.annotation for parameter in parameters] == [Request] else None


def _resolved(handler: Callable[..., Any], parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter with its annotation as a type: FastAPI would look for its name in this module."""
    if not isinstance(parameter.annotation, str):
        return parameter
    annotated = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    names = getattr(inspect.unwrap(handler), "__globals__", {})
    return parameter.replace(annotation=get_type_hints(annotated, names, include_extras=True)[parameter.name])


def _depends(session: Any) -> Any:
    """The session as a dependency of FastAPI; None without FastAPI."""
    try:
        from fastapi import Depends
        from fastapi.params import Depends as Given
    except ImportError:
        return None
    return session if isinstance(session, Given) else Depends(session)


async def _entered(stack: AsyncExitStack, session: Any, request: Request) -> Any:
    """Calls a dependency as FastAPI would."""
    call = getattr(session, "dependency", session)
    arguments = (request,) if inspect.signature(call).parameters else ()
    if inspect.isasyncgenfunction(call):
        return await stack.enter_async_context(asynccontextmanager(call)(*arguments))
    if inspect.isgeneratorfunction(call):
        return stack.enter_context(contextmanager(call)(*arguments))
    value = call(*arguments)
    return await value if inspect.isawaitable(value) else value


async def _body(request: Request, source: Source) -> bytes | Reply:
    """The raw body, bounded in size and time."""
    limit = source.body_limit
    cached = getattr(request, "_body", None)
    if isinstance(cached, bytes):
        return cached if len(cached) <= limit else source.too_large()
    deadline = _Deadline()
    try:
        return await _within(deadline, _read(request, limit))
    except _TooLarge:
        return source.too_large()
    except asyncio.CancelledError:
        if deadline.has_passed:
            deadline.forgive()
            return source.too_slow()
        raise
    except RuntimeError as error:
        raise ParsedBody(
            "the request's body was read before its signature was checked: a parameter of this route (Form, File) or a "
            "middleware has parsed it; remove that parameter and read event.body or event.form, and in a middleware "
            "do not read the body of this route"
        ) from error


class _Deadline:
    """Cancels the task when the time for a body is over. Costs less than a cancel scope, on a path that every delivery
    takes."""

    task: asyncio.Task[Any] | None = None
    has_passed = False

    def begin(self) -> asyncio.TimerHandle:
        self.task = asyncio.current_task()
        return asyncio.get_running_loop().call_later(_body_seconds_max(), self._pass)

    def _pass(self) -> None:
        self.has_passed = True
        if self.task is not None:
            self.task.cancel()

    def forgive(self) -> None:
        """Since Python 3.11, a task counts how often it was cancelled."""
        if self.task is not None and hasattr(self.task, "uncancel"):
            self.task.uncancel()


@types.coroutine
def _within(deadline: _Deadline, reading: Coroutine[Any, Any, bytes]) -> Generator[Any, Any, bytes]:
    """Awaits the coroutine. The deadline begins only if it has to wait: most bodies are there already."""
    try:
        waits_for = reading.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    timer = deadline.begin()
    try:
        while True:
            try:
                sent = yield waits_for
            except BaseException as error:  # noqa: BLE001 (passed on)
                waits_for = reading.throw(error)
            else:
                waits_for = reading.send(sent)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    finally:
        timer.cancel()


class _TooLarge(Exception):
    pass


async def _read(request: Request, limit: int) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _TooLarge
        chunks.append(chunk)
    body = b"".join(chunks)
    request._body = body  # so that request.body() and request.json() still work in dependencies
    return body


@functools.lru_cache(maxsize=1)
def _body_seconds_max() -> int:
    return _native.limits()["body_timeout_seconds"]


__all__ = ["webhook"]
