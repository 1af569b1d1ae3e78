"""A shop that is paid by Stripe: every payment is booked exactly once."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dotenv import load_dotenv
from fastapi import FastAPI
from hapax_webhooks import Event, Inbox, Source, create_tables
from hapax_webhooks.fastapi import webhook
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine

load_dotenv()
engine = create_async_engine(os.environ.get("DATABASE_URL", "sqlite+aiosqlite:///shop.db"))
sessions = async_sessionmaker(engine)


def source() -> Source:
    """Whose signature is checked: Stripe's, or that of Hapax in front of the app."""
    if os.environ.get("BEHIND_HAPAX"):
        return Source.hapax([os.environ["APP_SIGNING_SECRET"]])
    return Source.provider("stripe", [os.environ["STRIPE_WEBHOOK_SECRET"]])


async def create_schema() -> None:
    async with engine.begin() as connection:
        await connection.execute(text(Path(__file__).with_name("schema.sql").read_text()))
        await create_tables(connection)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    await create_schema()
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


@app.post("/webhooks/stripe")
@webhook(source(), Inbox("shop"), session=sessions)
async def paid(event: Event, session: AsyncSession) -> None:
    """Runs in the transaction that also records the event: both commit, or neither does. If it raises, Stripe retries."""
    if event.type != "payment_intent.succeeded":
        return
    payment = {"event_id": event.id, "amount": event.body["data"]["object"]["amount"]}
    await session.execute(text("insert into payments (event_id, amount) values (:event_id, :amount)"), payment)


@app.get("/payments")
async def payments() -> list[dict[str, str | int]]:
    async with sessions() as session:
        rows = await session.execute(text("select event_id, amount from payments"))
        return [dict(row) for row in rows.mappings()]
