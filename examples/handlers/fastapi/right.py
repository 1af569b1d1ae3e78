"""Right: the event is claimed and booked in one transaction."""

from fastapi import Depends, FastAPI

from shop import ask_the_bank, book, create_tables, remember, transaction, verified

app = FastAPI()
create_tables()


@app.post("/webhooks")
def webhook(event: dict = Depends(verified)):
    ask_the_bank(event)
    with transaction() as connection:
        if remember(connection, event):
            book(connection, event)
    return "ok"
