"""A shop on SQLite: payments and a balance, which show when an event takes effect twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hapax_webhooks as hapax

SECRET = "whsec_dGVzdC1zZWNyZXQ"
STRIPE = hapax.Source.provider("stripe", [SECRET])
BODY = {"id": "evt_1", "type": "invoice.paid", "data": {"object": {"amount": 2000}}}
SCHEMA = """
create table processed (event_id text primary key);
create table payments (number integer primary key, event_id text not null, amount integer not null);
create table account (balance integer not null);
insert into account values (0);
"""


def delivery() -> hapax.Delivery:
    return STRIPE.sample("invoice.paid", body=BODY)


class Shop:
    """One connection per transaction, as a pool of one thread each would have it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        connection = self.connect()
        connection.execute("pragma journal_mode = wal")
        connection.executescript(SCHEMA)
        hapax.create_tables(connection)
        connection.close()

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)

    def session(self) -> Iterator[sqlite3.Connection]:
        connection = self.connect()
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self.connect()
        try:
            connection.execute("begin immediate")
            yield connection
            connection.execute("commit")
        finally:
            connection.close()

    def effects(self) -> dict[str, int]:
        connection = self.connect()
        try:
            payments, balance = connection.execute(
                "select (select count(*) from payments), (select balance from account)"
            ).fetchone()
        finally:
            connection.close()
        return {"payments": payments, "balance": balance}


def book(connection: Any, event_id: str, amount: int) -> None:
    """The effect: none of it is idempotent."""
    connection.execute("insert into payments (event_id, amount) values (?, ?)", (event_id, amount))
    connection.execute("update account set balance = balance + ?", (amount,))


def remember(connection: sqlite3.Connection, event_id: str) -> bool:
    """False if the event was known."""
    return connection.execute("insert or ignore into processed values (?)", (event_id,)).rowcount == 1


def is_known(connection: sqlite3.Connection, event_id: str) -> bool:
    return connection.execute("select 1 from processed where event_id = ?", (event_id,)).fetchone() is not None
