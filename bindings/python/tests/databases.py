"""The databases of the tests, and a plain way to look into them that is independent of the driver under test."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psycopg


class Database(Protocol):
    dialect: str

    def rows(self, sql: str) -> list[tuple[Any, ...]]: ...


def number(database: Database, sql: str) -> int:
    return int(database.rows(sql)[0][0])


@dataclass
class Postgres:
    port: int
    name: str
    settings: dict[str, str] = field(default_factory=dict)
    dialect: str = "postgres"

    def at(self, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    @property
    def url(self) -> str:
        return self.at(self.name)

    @property
    def options(self) -> str:
        return " ".join(f"-c {name}={value}" for name, value in self.settings.items())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


@dataclass
class Sqlite:
    path: Path
    dialect: str = "sqlite"

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            connection.execute("pragma journal_mode = wal")
            return connection.execute(sql).fetchall()
        finally:
            connection.close()
