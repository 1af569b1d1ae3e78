"""A shop that is paid by Stripe: every payment is booked exactly once."""

import os
from pathlib import Path

from dotenv import load_dotenv
from flask import Flask
from hapax_webhooks import Event, Inbox, Source, create_tables
from hapax_webhooks.flask import webhook
from sqlalchemy import Connection, create_engine, text

load_dotenv()
engine = create_engine(os.environ.get("DATABASE_URL", "sqlite:///shop.db"))


def source() -> Source:
    """Whose signature is checked: Stripe's, or that of Hapax in front of the app."""
    if os.environ.get("BEHIND_HAPAX"):
        return Source.hapax([os.environ["APP_SIGNING_SECRET"]])
    return Source.provider("stripe", [os.environ["STRIPE_WEBHOOK_SECRET"]])


with engine.begin() as connection:
    connection.execute(text(Path(__file__).with_name("schema.sql").read_text()))
    create_tables(connection)

app = Flask(__name__)


@app.post("/webhooks/stripe")
@webhook(source(), Inbox("shop"), session=engine)
def paid(event: Event, connection: Connection) -> None:
    """Runs in the transaction that also records the event: both commit, or neither does. If it raises, Stripe retries."""
    if event.type != "payment_intent.succeeded":
        return
    payment = {"event_id": event.id, "amount": event.body["data"]["object"]["amount"]}
    connection.execute(text("insert into payments (event_id, amount) values (:event_id, :amount)"), payment)


@app.get("/payments")
def payments() -> list[dict[str, str | int]]:
    with engine.connect() as connection:
        rows = connection.execute(text("select event_id, amount from payments"))
        return [dict(row) for row in rows.mappings()]
