"""Flawed: if the process dies between the two transactions, the event is lost: every retry finds it known."""

from fastapi import Depends, FastAPI

from shop import ask_the_bank, book, create_tables, remember, transaction, verified

app = FastAPI()
create_tables()


@app.post("/webhooks")
def webhook(event: dict = Depends(verified)):
    with transaction() as connection:
        if not remember(connection, event):
            return "known"
    ask_the_bank(event)
    with transaction() as connection:
        book(connection, event)
    return "ok"
