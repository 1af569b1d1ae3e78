"""The decorator for views."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import RawPostDataException
from django.views.decorators.csrf import csrf_exempt

from hapax_webhooks._native import Reply
from hapax_webhooks.drivers.contract import finish
from hapax_webhooks.errors import ParsedBody, SetupError
from hapax_webhooks.event import Event
from hapax_webhooks.inbox import Inbox
from hapax_webhooks.route import Framework, Route
from hapax_webhooks.source import Source


class _Django(Framework):
    passes = (Http404, PermissionDenied, SuspiciousOperation)

    def respond(self, reply: Reply) -> HttpResponse:
        response = HttpResponse(reply.body, status=reply.status)
        del response["Content-Type"]
        for name, value in reply.headers:
            response[name] = value
        return response

    def response(self, value: Any) -> HttpResponse | None:
        if value is None or hasattr(value, "status_code"):
            return value  # type: ignore[no-any-return]
        raise SetupError(f"the handler returned {type(value).__name__}; return None or an HttpResponse")

    def status(self, response: Any) -> int:
        return int(response.status_code)


def webhook(
    source: Source, inbox: Inbox | None = None, *, using: str = DEFAULT_DB_ALIAS
) -> Callable[[Callable[..., Any]], Callable[..., HttpResponse]]:
    """Makes a view of a function that takes the request, the event, and the URL's variables.

    The function runs in a transaction on the database `using`, which must be the one that it writes to. The transaction
    begins with the claim and is committed before the view returns, also with ATOMIC_REQUESTS: the view is exempt from
    it, and from CSRF protection, which webhooks replace by their signature.

    If the function returns None, the provider is answered as it expects. It may return a response of its own; any status
    other than 2xx rolls back, as does any error. Without `inbox`, the event is only verified."""
    route = Route(source, inbox, _Django())

    def decorate(handler: Callable[..., Any]) -> Callable[..., HttpResponse]:
        if inspect.iscoroutinefunction(handler):
            raise SetupError(
                f"the handler {handler.__name__} is `async def`, but Django has no asynchronous transactions; make it "
                "`def`: an asynchronous server runs it on a thread"
            )

        @functools.wraps(handler)
        def view(request: HttpRequest, *args: Any, **variables: Any) -> HttpResponse:
            body = _body(request, source)
            if isinstance(body, Reply):
                return route.framework.respond(body)  # type: ignore[no-any-return]
            headers = list(request.headers.items())
            query = request.META.get("QUERY_STRING", "")
            received = source.receive(request.method or "POST", query, headers, body)
            if received.events is None:
                return route.refusal(received)  # type: ignore[no-any-return]

            def called(event: Event, _tx: Any) -> Any:
                return handler(request, event, *args, **variables)

            db = None if inbox is None else connections[using]
            return finish(route.handle(received.events, db, called))  # type: ignore[no-any-return]

        view.__hapax_source__ = source.name  # type: ignore[attr-defined]
        exempt = csrf_exempt(view)
        return exempt if inbox is None else transaction.non_atomic_requests(using=using)(exempt)

    return decorate


def _body(request: HttpRequest, source: Source) -> bytes | Reply:
    """The raw body, bounded in size."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isdigit() and int(length) > source.body_limit:
        return source.too_large()
    # The Django REST framework wraps the request.
    bare = getattr(request, "_request", request)
    try:
        body: bytes = bare.body
    except RequestDataTooBig:
        # DATA_UPLOAD_MAX_MEMORY_SIZE, 2.5 MB by default, is below the source's limit.
        return source.too_large()
    except RawPostDataException as error:
        raise ParsedBody(
            "the request's body was read before its signature was checked: a middleware or decorator used request.POST, "
            "request.FILES, request.read() or the REST framework's request.data; do not read them for this view, and use "
            "event.body or event.form in the handler"
        ) from error
    return body if len(body) <= source.body_limit else source.too_large()
