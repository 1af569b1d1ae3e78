"""The worker in Python: applies the deliveries that the harness names, one after another. README.md says what is said on
standard input and output.

    python worker.py [--cheat] URL
"""

import json
import sqlite3
import sys
from datetime import timedelta

import hapax_webhooks as hapax

WAIT = timedelta(milliseconds=100)
# SQLite has one writer at a time, and a delivery waits for every other.
BUSY_TIMEOUT_SECONDS = 20
# The effect, which shows when it is applied twice, or not at all.
WORK = "insert into payments (event_id, language, amount) values (?, 'python', 1)"


def connect(url):
    """A connection that commits nothing by itself inside a transaction, and the statement in its dialect."""
    if url.startswith("sqlite:"):
        file = url.removeprefix("sqlite:")
        return sqlite3.connect(file, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None), WORK
    import psycopg

    return psycopg.connect(url, autocommit=True), WORK.replace("?", "%s")


def say(word):
    print(json.dumps(word), flush=True)


def hold(delivery, place):
    """Holds if this is the place, until the harness says to go on."""
    if delivery["hold"] == place:
        say("held")
        if json.loads(sys.stdin.readline()) != "go_on":
            raise RuntimeError("told to stop while held")


def main():
    connection, insert = connect(sys.argv[-1])
    inbox = hapax.Inbox("harness", wait=WAIT)

    def work(tx, delivery):
        hold(delivery, "before_work")
        tx.execute(insert, (delivery["event_id"],))
        hold(delivery, "after_work")

    def apply(event, delivery):
        return inbox.run(connection, event, lambda tx: work(tx, delivery)).word

    def cheat(event, delivery):
        """Commits the claim on its own, then does the work."""
        outcome = inbox.run(connection, event, lambda tx: None)
        if outcome.word == "processed":
            work(connection, delivery)
        return outcome.word

    deliver = cheat if "--cheat" in sys.argv else apply
    for line in sys.stdin:
        request = json.loads(line)
        if request == "create_tables":
            hapax.create_tables(connection)
            say("created")
        else:
            delivery = request["deliver"]
            event = hapax.Event("stripe", delivery["event_id"], raw=delivery["body"].encode())
            say(deliver(event, delivery))


main()
