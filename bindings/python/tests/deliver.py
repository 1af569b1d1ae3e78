"""Delivers to an application object, as the test helper does."""

from __future__ import annotations

import json
from typing import Any

import hapax_webhooks as hapax
from hapax_webhooks.testing.serve import Answer, serving


async def deliver(app: Any, path: str, *deliveries: hapax.Delivery) -> list[Answer]:
    """Each of them, one after the other, to a running application."""
    async with serving(app, lifespan=True) as caller:
        return [await caller.one(delivery, path) for delivery in deliveries]


def words(answers: list[Answer]) -> list[tuple[int | None, str | None]]:
    """The statuses, and the `status` or `code` in the bodies."""
    return [(answer.status, _word(answer.body)) for answer in answers]


def _word(body: bytes) -> str | None:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    return document.get("code") or document.get("status") if isinstance(document, dict) else None
