"""The handler that teams write by hand: verify, claim the id, do the work, all in one transaction.

It is written as well as that can be done: a pool, prepared statements (asyncpg caches them), uvloop and httptools, one
round trip for the claim and one for the work.
"""

import hashlib
import hmac
import json
import os
import time

import asyncpg
from fastapi import FastAPI, Request, Response

SECRET = os.environ["HAPAX_LOAD_SECRET"].encode()
DATABASE = os.environ["DATABASE_URL"]
TOLERANCE_SECONDS = 300

app = FastAPI()


@app.on_event("startup")
async def connect() -> None:
    app.state.pool = await asyncpg.create_pool(DATABASE, min_size=10, max_size=10)


def is_genuine(header: str, body: bytes) -> bool:
    parts = [part.split("=", 1) for part in header.split(",")]
    timestamp = next((value for name, value in parts if name == "t"), "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(SECRET, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(name == "v1" and hmac.compare_digest(value, expected) for name, value in parts)


def answer(status: str, event: str) -> Response:
    return Response(json.dumps({"status": status, "event_id": event}, separators=(",", ":")), media_type="application/json")


@app.post("/in/fastapi")
async def receive(request: Request) -> Response:
    body = await request.body()
    if not is_genuine(request.headers.get("stripe-signature", ""), body):
        return Response(status_code=401)
    event = json.loads(body)["id"]
    async with app.state.pool.acquire() as connection, connection.transaction():
        claimed = await connection.fetchval(
            "insert into processed_events (event_id) values ($1) on conflict do nothing returning true", event
        )
        if not claimed:
            return answer("duplicate", event)
        await connection.execute("insert into effects (event) values ($1)", event)
    return answer("accepted", event)
