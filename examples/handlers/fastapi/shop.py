"""What all versions share: the signature, the database, the bank."""

import hashlib
import hmac
import json
import os
import sqlite3
import time
from contextlib import contextmanager

from fastapi import HTTPException, Request

SECRET = os.environ["STRIPE_WEBHOOK_SECRET"].encode()
DATABASE = os.environ.get("DATABASE", "shop.db")
TOLERANCE_SECONDS = 300
BANK_TAKES_SECONDS = int(os.environ.get("BANK_TAKES_MS", "100")) / 1000

SCHEMA = """
pragma journal_mode = wal;
create table if not exists processed (event_id text primary key);
create table if not exists payments (number integer primary key, event_id text not null, amount integer not null);
create table if not exists account (name text primary key, balance integer not null);
insert or ignore into account values ('shop', 0);
"""


@contextmanager
def transaction():
    """One transaction: commits at the end, and rolls back where an exception leaves it."""
    connection = sqlite3.connect(DATABASE, timeout=10, isolation_level=None)
    try:
        connection.execute("begin immediate")
        yield connection
        connection.execute("commit")
    finally:
        connection.close()


def create_tables():
    connection = sqlite3.connect(DATABASE, timeout=10)
    connection.executescript(SCHEMA)
    connection.close()


async def verified(request: Request) -> dict:
    """The event, if the signature holds."""
    body = await request.body()
    fields = dict(part.split("=", 1) for part in request.headers.get("stripe-signature", "").split(",") if "=" in part)
    timestamp, given = fields.get("t", ""), fields.get("v1", "")
    expected = hmac.new(SECRET, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    recent = timestamp.isdigit() and abs(time.time() - int(timestamp)) <= TOLERANCE_SECONDS
    if not recent or not hmac.compare_digest(given, expected):
        raise HTTPException(400, "the signature does not hold")
    return json.loads(body)


def ask_the_bank(event: dict):
    """It knows the payment by the event's id, so that asking twice does no harm. See `bank` for when it is closed."""
    time.sleep(BANK_TAKES_SECONDS)
    if os.path.exists(DATABASE + ".closed"):
        raise HTTPException(500, "the bank is closed")


def remember(connection, event: dict) -> bool:
    """False if the event was known."""
    return connection.execute("insert or ignore into processed values (?)", (event["id"],)).rowcount == 1


def is_known(connection, event: dict) -> bool:
    return connection.execute("select 1 from processed where event_id = ?", (event["id"],)).fetchone() is not None


def book(connection, event: dict):
    """The effect: none of it is idempotent."""
    amount = event["data"]["object"]["amount"]
    connection.execute("insert into payments (event_id, amount) values (?, ?)", (event["id"], amount))
    connection.execute("update account set balance = balance + ?", (amount,))
