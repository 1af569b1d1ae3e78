"""Where the deliveries of a source go, in the routes of an application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hapax_webhooks.errors import SetupError
from hapax_webhooks.source import Delivery

Found = tuple[str, Callable[..., Any]]


def path_of(app: Any, delivery: Delivery) -> str:
    """The route that is decorated with the delivery's source, or else the only route that takes a POST."""
    posts = list(_posts(app))
    ours = [path for path, view in posts if getattr(view, "__hapax_source__", None) == delivery.source.name]
    candidates = ours or [path for path, _ in posts]
    if len(candidates) == 1:
        return candidates[0]
    routes = ", ".join(candidates) or "none were found"
    raise SetupError(
        f"pass path=…: it is not clear which route gets the deliveries of {delivery.source.name} ({routes})"
    )


def _posts(app: Any) -> Iterator[Found]:
    if hasattr(app, "url_map") and hasattr(app, "view_functions"):
        for rule in app.url_map.iter_rules():
            if "POST" in (rule.methods or ()):
                yield rule.rule, app.view_functions[rule.endpoint]
    elif hasattr(app, "routes"):
        yield from _starlette(app.routes, "")
    elif type(app).__module__.startswith("django."):
        from django.urls import get_resolver

        yield from _django(get_resolver().url_patterns, "/")


def _starlette(routes: Any, prefix: str) -> Iterator[Found]:
    for route in routes:
        path = prefix + getattr(route, "path", "")
        if hasattr(route, "endpoint") and "POST" in (getattr(route, "methods", None) or ()):
            yield path, route.endpoint
        elif getattr(route, "routes", None):
            yield from _starlette(route.routes, path)


def _django(patterns: Any, prefix: str) -> Iterator[Found]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern).removeprefix("/")
        if hasattr(pattern, "url_patterns"):
            yield from _django(pattern.url_patterns, path)
        elif hasattr(pattern.callback, "__hapax_source__"):
            yield path, pattern.callback
