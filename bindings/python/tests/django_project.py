"""A Django project whose databases are added while it runs."""

from __future__ import annotations

import itertools
from typing import Any

import django
from databases import Sqlite
from django.conf import settings
from django.db import connections

_numbers = itertools.count(1)

if not settings.configured:
    settings.configure(
        SECRET_KEY="test",
        DEBUG=False,
        ALLOWED_HOSTS=["*"],
        USE_TZ=True,
        ROOT_URLCONF="django_urls",
        INSTALLED_APPS=["hapax_webhooks.django", "django_shop"],
        MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        LOGGING_CONFIG=None,
    )
    django.setup()


def configured(database: Any, wait_ms: int = 30_000) -> dict[str, Any]:
    """The settings of a database."""
    common = {
        "ATOMIC_REQUESTS": False,
        "AUTOCOMMIT": True,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": False,
        "TIME_ZONE": None,
        "TEST": {"CHARSET": None, "COLLATION": None, "MIGRATE": True, "MIRROR": None, "NAME": None},
        "USER": "postgres",
        "PASSWORD": "",
    }
    if isinstance(database, Sqlite):
        options = {"timeout": wait_ms / 1000}
        return {
            **common,
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(database.path),
            "HOST": "",
            "PORT": "",
            "OPTIONS": options,
        }
    return {
        **common,
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database.name,
        "HOST": "127.0.0.1",
        "PORT": str(database.port),
        "OPTIONS": {"options": database.options},
    }


def add(database: Any, wait_ms: int = 30_000) -> str:
    """Adds a database, and returns its alias."""
    alias = f"database_{next(_numbers)}"
    connections.databases[alias] = configured(database, wait_ms)
    return alias
