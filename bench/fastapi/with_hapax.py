"""The handler of app.py with our library: the same work, in the same kind of pool."""

import os

import asyncpg
import hapax_webhooks as hapax
from fastapi import FastAPI

stripe = hapax.Source.provider("stripe", secrets=[os.environ["HAPAX_LOAD_SECRET"]])
bench = hapax.Inbox("bench")
app = FastAPI()


@app.on_event("startup")
async def connect() -> None:
    app.state.pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=10, max_size=10)


async def pool() -> asyncpg.Pool:
    return app.state.pool


@app.post("/in/fastapi")
@hapax.fastapi.webhook(stripe, bench, session=pool)
async def receive(event: hapax.Event, connection: asyncpg.Connection) -> None:
    await connection.execute("insert into effects (event) values ($1)", event.id)
