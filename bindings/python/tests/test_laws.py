"""The laws of the inbox, which Rust and TypeScript run too, for every driver."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from databases import Postgres, number
from subjects import SUBJECTS, Subject, database_of

import hapax_webhooks as hapax
from hapax_webhooks import _native

LAWS = Path(__file__).resolve().parents[3] / "crates/hapax/laws"
KEYS, NAMES, CALLS, TABLES, OUTCOMES = (
    json.loads((LAWS / f"{name}.json").read_text()) for name in ("keys", "names", "calls", "tables", "outcomes")
)
WAIT_SECONDS_MAX = 60


def for_each(cases: list[Any], name: Callable[[Any], str]) -> Any:
    return [pytest.param(case, id=name(case)) for case in cases]


def test_keys_and_hashes_are_the_same_bytes() -> None:
    for case in KEYS["idempotency_keys"]:
        key = _native.idempotency_key(case["scope"], case["event_id"], case["generation"], case["destination"])
        assert key == case["key"]
    for case in KEYS["call_keys"]:
        identity = (case["scope"], case["event_id"], case["generation"], case["consumer"], case["number"])
        assert _native.call_key(*identity) == case["key"]
    for case in KEYS["body_hashes"]:
        raw = bytes.fromhex(case["body_hex"])
        event = hapax.Event("stripe", "evt_1", raw=raw)
        assert event.body_hash is not None
        assert (event.body_hash.hex(), _native.body_hash(raw).hex()) == (case["hash"], case["hash"])


@pytest.mark.parametrize("case", NAMES["cases"])
@pytest.mark.parametrize("name", NAMES["names"])
def test_names(name: str, case: dict[str, Any]) -> None:
    text = case["text"] * case["times"]
    make: Callable[[], object] = {
        "source": lambda: hapax.Event(text, "evt_1"),
        "event id": lambda: hapax.Event("stripe", text),
        "consumer": lambda: hapax.Inbox(text),
    }[name]
    if case["problem"] is None:
        make()
        return
    with pytest.raises(hapax.Invalid, match=NAMES["problems"][case["problem"]]) as caught:
        make()
    assert name in str(caught.value)


@pytest.mark.parametrize("case", CALLS["cases"])
def test_calls(case: dict[str, Any]) -> None:
    def repeated(field: str) -> str | None:
        return None if field not in case else case[field][0] * case[field][1]

    call = hapax.Call(
        case["kind"],
        repeated("target") or "",
        {f"x-{number}": "y" for number in range(case.get("headers", 0))},
        b"x" * case.get("body", 0),
        repeated("key"),
        repeated("order_key"),
    )
    sqlite = SUBJECTS[0]

    def check() -> None:
        import sqlite3

        connection = sqlite3.connect(":memory:")
        hapax.create_tables(connection)
        hapax.outbox.stage(connection, call)

    assert sqlite.dialect == "sqlite"
    if case["problem"] is None:
        check()
        return
    with pytest.raises(hapax.InvalidCall, match=CALLS["problems"][case["problem"]]):
        check()


@pytest.mark.parametrize("kind", for_each(SUBJECTS, lambda kind: kind.name))
def test_tables(kind: type[Subject], new_postgres: Callable[[], Postgres], tmp_path: Path) -> None:
    database = database_of(kind, new_postgres, tmp_path)
    subject = kind(database)
    for _ in range(2):
        subject.create_tables()
        for query in TABLES[kind.dialect]["queries"]:
            assert [row[0] for row in database.rows(query["sql"])] == query["rows"], query["what"]


class Gate:
    """Where the handler of a held delivery waits."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.word: Future[str] = Future()

    def block(self) -> None:
        self.begun.set()
        if self.word.result(WAIT_SECONDS_MAX) == "fail":
            raise HandlerError("told to fail")


class HandlerError(Exception):
    pass


class Runner:
    def __init__(self, subject: Subject, database: Any, threads: ThreadPoolExecutor) -> None:
        self.subject = subject
        self.database = database
        self.threads = threads
        self.under_way: dict[str, tuple[Gate, Future[str]]] = {}

    def deliver(self, step: dict[str, Any], gate: Gate) -> str:
        """Delivers once, on the caller's thread, and returns the word for what happened."""
        wait_ms = step.get("wait_ms", 30_000)
        retention = timedelta(seconds=step["retention_seconds"]) if "retention_seconds" in step else None
        inbox = hapax.Inbox(step.get("consumer", "billing"), wait=timedelta(milliseconds=wait_ms), retention=retention)
        actions = OUTCOMES["handlers"][step.get("handler", "add")]

        async def handler(execute: Callable[[str], Any], stage: Callable[[hapax.Call], Any]) -> None:
            await settled(execute(OUTCOMES["add"]))
            for action in actions:
                await act(action, execute, stage, gate)

        try:
            return self.subject.run(inbox, event_of(step["deliver"]), handler, wait_ms).word
        except (HandlerError, hapax.InvalidCall):
            return "failed"
        except hapax.Broken:
            return "broken"
        except hapax.UnknownCommit as error:
            assert hapax.is_retryable(error) and "deliver the event again" in str(error)
            return "unknown"
        except hapax.MissingTable as error:
            assert not error.is_retryable and "create_tables" in str(error)
            return "missing_table"
        except hapax.DatabaseError as error:
            return "unavailable" if error.is_retryable else "refused"

    def step(self, step: dict[str, Any]) -> None:
        match step:
            case {"deliver": _, "at_once": times}:
                words = [self.threads.submit(self.deliver, step, Gate()) for _ in range(times)]
                assert Counter(word.result(WAIT_SECONDS_MAX) for word in words) == Counter(step["expect"])
            case {"deliver": _, "as": name}:
                gate = Gate()
                started = self.threads.submit(self.deliver, step, gate)
                self.under_way[name] = (gate, started)
                if any("hold" in action for action in OUTCOMES["handlers"][step.get("handler", "add")]):
                    assert gate.begun.wait(WAIT_SECONDS_MAX)
            case {"deliver": _, "expect": expected}:
                word = self.threads.submit(self.deliver, step, Gate()).result(WAIT_SECONDS_MAX)
                assert word == expected
            case {"release": name, "expect": expected} | {"fail": name, "expect": expected}:
                gate, started = self.under_way.pop(name)
                gate.word.set_result("release" if "release" in step else "fail")
                assert started.result(WAIT_SECONDS_MAX) == expected
            case {"join": name, "expect": expected}:
                _, started = self.under_way.pop(name)
                assert started.result(WAIT_SECONDS_MAX) == expected
            case {"claim": event, "then": then, "expect": expected}:
                claiming = self.threads.submit(
                    self.subject.claim, hapax.Inbox("billing"), event_of(event), commit=commits(then)
                )
                assert claiming.result(WAIT_SECONDS_MAX).value == expected
            case {"stage": call, "then": then}:
                staging = self.threads.submit(self.subject.stage, call_of(call), commit=commits(then))
                staging.result(WAIT_SECONDS_MAX)
            case {"purge": rows_max, "expect": expected}:
                purging = self.threads.submit(self.subject.purge, rows_max)
                assert purging.result(WAIT_SECONDS_MAX) == expected
            case {"create_tables": True}:
                self.threads.submit(self.subject.create_tables).result(WAIT_SECONDS_MAX)
            case {"execute": sql}:
                self.each_dialect(sql, self.database.rows)
            case {"query": sql, "is": expected}:
                self.each_dialect(sql, lambda text: equal(number(self.database, text), expected))
            case {"until": sql, "is": expected}:
                self.each_dialect(sql, lambda text: self.until(text, expected))
            case _:
                raise AssertionError(f"an unknown step: {step}")

    def each_dialect(self, sql: Any, run: Callable[[str], Any]) -> None:
        text = sql.get(self.database.dialect) if isinstance(sql, dict) else sql
        if text is not None:
            run(text)

    def until(self, sql: str, expected: int) -> None:
        while number(self.database, sql) != expected:
            pass


def equal(found: int, expected: int) -> None:
    assert found == expected


def commits(then: str) -> bool:
    assert then in ("commit", "roll_back")
    return then == "commit"


async def settled(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


async def act(
    action: dict[str, Any], execute: Callable[[str], Any], stage: Callable[[hapax.Call], Any], gate: Gate
) -> None:
    match action:
        case {"execute": sql}:
            await settled(execute(sql))
        case {"ignore": sql}:
            with contextlib.suppress(Exception):
                await settled(execute(sql))
        case {"stage": call}:
            await settled(stage(call_of(call)))
        case {"hold": True}:
            # Nothing else runs in this thread's event loop.
            gate.block()
        case {"fail": text}:
            raise HandlerError(text)
        case _:
            raise AssertionError(f"an unknown action: {action}")


def event_of(given: dict[str, Any]) -> hapax.Event:
    known = {"source": "stripe", "body": "{}", "generation": 0, "replayed": False, **given}
    body = known.pop("body")
    return hapax.Event(**known, raw=None if body is None else body.encode())


def call_of(given: dict[str, Any]) -> hapax.Call:
    make = {"http": hapax.Call.http, "destination": hapax.Call.destination}[given["kind"]]
    return make(given["target"], **{name: value for name, value in given.items() if name not in ("kind", "target")})


SCENARIOS = [
    pytest.param(kind, scenario, id=f"{kind.name}: {scenario['name']}")
    for kind in SUBJECTS
    for scenario in OUTCOMES["scenarios"]
    if kind.dialect in scenario.get("dialects", ["postgres", "sqlite"])
]


@pytest.mark.parametrize(("kind", "scenario"), SCENARIOS)
def test_outcomes(
    kind: type[Subject], scenario: dict[str, Any], new_postgres: Callable[[], Postgres], tmp_path: Path
) -> None:
    database = database_of(kind, new_postgres, tmp_path)
    if kind.dialect == "postgres":
        database.settings = OUTCOMES["settings"]["postgres"]
    subject = kind(database)
    with ThreadPoolExecutor(32) as threads:
        threads.submit(subject.create_tables).result(WAIT_SECONDS_MAX)
        for sql in OUTCOMES["account"]:
            database.rows(sql)
        runner = Runner(subject, database, threads)
        try:
            for step in scenario["steps"]:
                runner.step(step)
        finally:
            for gate, _ in runner.under_way.values():
                gate.word.cancel() if gate.word.done() else gate.word.set_result("fail")
    end = scenario["end"]
    assert number(database, "select balance from account") == end["balance"]
    assert number(database, "select count(*) from hapax_inbox") == end["inbox"]
    keys = [row[0] for row in database.rows("select idempotency_key from hapax_outbox order by id")]
    expected = end.get("outbox", [])
    assert len(keys) == len(expected)
    assert all(wanted is None or wanted == key for wanted, key in zip(expected, keys, strict=True))
