"""Flawed: two copies that arrive together both find that the event is new, and both book it."""

from fastapi import Depends, FastAPI

from shop import ask_the_bank, book, create_tables, is_known, remember, transaction, verified

app = FastAPI()
create_tables()


@app.post("/webhooks")
def webhook(event: dict = Depends(verified)):
    with transaction() as connection:
        if is_known(connection, event):
            return "known"
    ask_the_bank(event)
    with transaction() as connection:
        book(connection, event)
        remember(connection, event)
    return "ok"
