"""The pytest plugin: one fixture. It is loaded in every run, so it imports nothing until the fixture is used."""

from typing import Any

import pytest


@pytest.fixture
def hapax_twice() -> Any:
    """`hapax_webhooks.testing.twice`: `hapax_twice(app, delivery, effects=…)`, awaited in an asynchronous test."""
    from hapax_webhooks.testing import twice

    return twice
