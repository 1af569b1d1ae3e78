"""The README is the page in the registry: its first program runs, and the rest of its Python is Python."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from databases import Postgres
from deliver import deliver, words
from shop import SECRET

BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_each_example_is_python(block: str) -> None:
    # `await` may stand at the top of an example.
    compile(block, "README.md", "exec", flags=0x2000)


def test_the_first_example_runs(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres.url.replace("postgresql:", "postgresql+asyncpg:"))
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", SECRET)
    postgres.rows("create table orders (id text, status text)")
    postgres.rows("insert into orders values ('in_1', 'open')")
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(BLOCKS[0], "README.md", "exec"), names)

    async def run() -> list[Any]:
        body = {"id": "evt_1", "type": "invoice.paid", "data": {"object": {"id": "in_1"}}}
        event = names["stripe"].sample("invoice.paid", body=body)
        answers = await deliver(names["app"], "/webhooks/stripe", event, event)
        await names["engine"].dispose()
        return answers

    assert words(asyncio.run(run())) == [(200, "accepted"), (200, "duplicate")]
    assert postgres.rows("select status from orders") == [("paid",)]
