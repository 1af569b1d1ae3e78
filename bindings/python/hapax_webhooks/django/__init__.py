"""Webhooks in Django: an app with the migration of both tables, and a decorator for views.

INSTALLED_APPS += ["hapax_webhooks.django"]

@hapax_webhooks.django.webhook(stripe, billing)
def paid(request, event):
    Payment.objects.create(...)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hapax_webhooks.django.views import webhook as webhook


def __getattr__(name: str) -> Any:
    # Django imports this module while it loads its apps, before views may be imported.
    if name == "webhook":
        from hapax_webhooks.django.views import webhook

        return webhook
    raise AttributeError(f"module 'hapax_webhooks.django' has no attribute {name!r}")
