"""Webhooks in Flask: verified before anything is parsed, applied once, committed before the response.

@app.post("/webhooks/stripe")
@hapax_webhooks.flask.webhook(stripe, billing, session=pool)
def paid(event: Event, connection: psycopg.Connection) -> None:
    connection.execute(...)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import flask
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from hapax_webhooks._native import Reply
from hapax_webhooks.drivers.contract import finish
from hapax_webhooks.entering import entered
from hapax_webhooks.errors import ParsedBody, SetupError
from hapax_webhooks.event import Event
from hapax_webhooks.inbox import Inbox
from hapax_webhooks.route import Framework, Route
from hapax_webhooks.source import Source


class _Flask(Framework):
    passes = (HTTPException,)

    def respond(self, reply: Reply) -> flask.Response:
        response = flask.Response(reply.body, reply.status)
        # Otherwise Flask adds a content type of its own to an empty answer.
        response.headers.remove("content-type")
        response.headers.update(dict(reply.headers))
        return response

    def response(self, value: Any) -> flask.Response | None:
        return None if value is None else flask.make_response(value)

    def status(self, response: Any) -> int:
        return int(response.status_code)


def webhook(
    source: Source, inbox: Inbox | None = None, *, session: Any = None
) -> Callable[[Callable[..., Any]], Callable[..., flask.Response]]:
    """Makes a view of a function that takes the event and the session or connection, and the URL's variables.

    `session` is where the work is done: a pool, an engine, a session maker, a scoped session (such as Flask-SQLAlchemy's
    `db.session`), or a function that returns such an object or a connection; it may `yield` it. The transaction begins
    with the claim and is committed before the view returns.

    If the function returns None, the provider is answered as it expects. It may return anything a view may; any status
    other than 2xx rolls back, as does any error. Without `inbox`, the event is only verified."""
    if inbox is not None and session is None:
        raise SetupError("pass session=…: the pool, engine or function in whose transaction the event is claimed")
    route = Route(source, inbox, _Flask())

    def decorate(handler: Callable[..., Any]) -> Callable[..., flask.Response]:
        if inspect.iscoroutinefunction(handler):
            raise SetupError(
                f"the handler {handler.__name__} is `async def`, but Flask runs it on a thread of its own; make it `def`"
            )
        takes_tx = inbox is not None and _takes_tx(handler)

        @functools.wraps(handler)
        def view(**variables: Any) -> flask.Response:
            body = _body(source)
            if isinstance(body, Reply):
                return route.framework.respond(body)  # type: ignore[no-any-return]
            request = flask.request
            headers = list(request.headers.items())
            received = source.receive(request.method, request.query_string.decode("latin-1"), headers, body)
            if received.events is None:
                return route.refusal(received)  # type: ignore[no-any-return]

            def called(event: Event, tx: Any) -> Any:
                return handler(event, tx, **variables) if takes_tx else handler(event, **variables)

            with ExitStack() as stack:
                db = entered(stack, session, "Flask")
                return finish(route.handle(received.events, db, called))  # type: ignore[no-any-return]

        view.__hapax_source__ = source.name  # type: ignore[attr-defined]
        return view

    return decorate


def _takes_tx(handler: Callable[..., Any]) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len([p for p in inspect.signature(handler).parameters.values() if p.kind in kinds]) >= 2


def _body(source: Source) -> bytes | Reply:
    """The raw body, bounded in size. It is cached, so that `request.get_json()` still works."""
    request, limit = flask.request, source.body_limit
    length = request.content_length
    if length is not None and length > limit:
        return source.too_large()
    was_parsed = "form" in vars(request)
    with suppress(AttributeError):
        # Bounds a body of unknown length; possible since Flask 3.1.
        request.max_content_length = min(limit, request.max_content_length or limit)
    try:
        body = request.get_data(cache=True)
    except RequestEntityTooLarge:
        return source.too_large()
    if not body and length and was_parsed:
        raise ParsedBody(
            "the request's body was parsed as a form before its signature was checked: `request.form`, `request.files` or "
            "`request.values` was read in a before_request function or an extension; do not read them for this route, "
            "and use event.form in the handler"
        )
    return body if len(body) <= limit else source.too_large()


__all__ = ["webhook"]
