"""The messages between asyncpg and the server: few, and none of them less safe for that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import psycopg
import pytest
from databases import Postgres, number

import hapax_webhooks as hapax

BILLING = hapax.Inbox("billing")
IDS = (
    "'; drop table payments; --",
    "\\'; --",
    "$1",
    "?",
    "\x01",
    "é",
    "\U0001f600",
    "a'b\"c",
    "\\x41",
    "%s",
    "{}",
    "evt\n",
)


@pytest.fixture
def shop(postgres: Postgres) -> Postgres:
    with psycopg.connect(postgres.url) as connection:
        hapax.create_tables(connection)
        connection.execute("create table payments (event text not null)")
    return postgres


@asynccontextmanager
async def listening(shop: Postgres, **settings: str) -> AsyncIterator[tuple[asyncpg.Pool, list[str]]]:
    """A pool of one connection, and what is sent on it."""
    sent: list[str] = []

    async def init(connection: asyncpg.Connection) -> None:
        connection.add_query_logger(lambda record: sent.append(record.query))

    async with asyncpg.create_pool(shop.url, min_size=1, max_size=1, init=init, server_settings=settings) as pool:
        yield pool, sent


async def run(pool: asyncpg.Pool, event_id: str, work: Callable[[Any], Any] | None = None) -> str:
    async def pay(connection: asyncpg.Connection) -> None:
        await connection.execute("insert into payments values ($1)", event_id)

    outcome = await BILLING.run(pool, hapax.Event("stripe", event_id, raw=b"{}"), work or pay)
    return outcome.word


def ours(sent: list[str]) -> list[str]:
    """Without what the pool sends by itself."""
    return [text for text in sent if "pg_advisory_unlock_all" not in text]


def test_a_run_sends_two_messages_around_the_work_and_a_duplicate_three_in_all(shop: Postgres) -> None:
    async def main() -> None:
        async with listening(shop) as (pool, sent):
            assert await run(pool, "evt_0") == "processed"
            assert ours(sent)[0].startswith("PREPARE hapax_claim_")  # once for each connection
            sent.clear()
            assert await run(pool, "evt_1") == "processed"
            opening, work, closing = ours(sent)
            begins = "BEGIN ISOLATION LEVEL READ COMMITTED; SAVEPOINT hapax_handler; EXECUTE hapax_claim_"
            assert opening.startswith(begins)
            assert (work, closing) == (
                "insert into payments values ($1)",
                "RELEASE SAVEPOINT hapax_handler; COMMIT",
            )
            sent.clear()
            assert await run(pool, "evt_1") == "duplicate"
            assert len(ours(sent)) == 3

    asyncio.run(main())
    assert number(shop, "select count(*) from payments") == 2


def test_no_value_can_leave_its_literal_whatever_the_server_makes_of_strings(shop: Postgres) -> None:
    async def main() -> None:
        async with listening(shop, standard_conforming_strings="off", backslash_quote="on") as (pool, _):
            for word in ("processed", "duplicate"):
                assert [await run(pool, event_id) for event_id in IDS] == [word] * len(IDS)

    asyncio.run(main())
    with psycopg.connect(shop.url) as connection:
        stored = connection.execute("select event_id from hapax_inbox").fetchall()
    assert {row[0] for row in stored} == set(IDS)


def test_a_pooler_that_loses_the_prepared_claim_or_has_it_already_costs_a_message_and_no_event(shop: Postgres) -> None:
    async def main() -> None:
        async with listening(shop) as (pool, sent):
            assert await run(pool, "evt_1") == "processed"
            prepare = ours(sent)[0]
            await pool.execute(f"deallocate {prepare.split()[1]}")
            words = [await run(pool, event_id) for event_id in ("evt_2", "evt_2", "evt_3", "evt_1")]
            assert words == ["processed", "duplicate", "processed", "duplicate"]
        async with listening(shop) as (pool, _):
            await pool.execute(prepare)
            assert [await run(pool, "evt_4") for _ in range(2)] == ["processed", "duplicate"]

    asyncio.run(main())
    assert number(shop, "select count(*) from payments") == 4


def test_the_wait_is_limited_to_the_claim_and_the_sessions_own_limit_holds_for_the_work(shop: Postgres) -> None:
    seen: list[str] = []

    async def look(connection: asyncpg.Connection) -> None:
        seen.append(await connection.fetchval("show lock_timeout"))

    async def main() -> None:
        async with listening(shop, lock_timeout="7654ms") as (pool, _):
            for event_id in ("evt_1", "evt_2", "evt_1"):
                await run(pool, event_id, look)
            async with pool.acquire() as connection:
                await look(connection)

    asyncio.run(main())
    assert seen == ["7654ms"] * 3
