"""A throw-away PostgreSQL server for the whole run, and a new database for each test that asks for one."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from databases import Postgres

pytest_plugins = ["pytester"]


@dataclass
class Server:
    port: int
    databases: int = 0

    def database(self) -> Postgres:
        self.databases += 1
        database = Postgres(self.port, f"test_{self.databases}")
        with psycopg.connect(database.at("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {database.name}")
        return database


def _programs() -> Path:
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        pytest.exit("PostgreSQL is not installed; run: apt-get install postgresql", returncode=2)
    return Path(found[-1] if found else str(on_path)).parent


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    programs, folder = _programs(), Path(tempfile.mkdtemp(prefix="hapax-postgres-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The server refuses to run as root.
    owner = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=owner and owner.pw_name, cwd=folder, stdout=subprocess.DEVNULL)

    data = str(folder / "data")
    run(
        str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale", "C.UTF-8", "-N"
    )
    settings = f"-p {port} -k {folder} -c fsync=off -c max_connections=200 -c listen_addresses=127.0.0.1"
    pg_ctl = str(programs / "pg_ctl")
    run(pg_ctl, "-D", data, "-w", "-l", str(folder / "log"), "-o", settings, "start")
    try:
        yield Server(port)
    finally:
        run(pg_ctl, "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture
def postgres(server: Server) -> Postgres:
    return server.database()


@pytest.fixture
def new_postgres(server: Server) -> Callable[[], Postgres]:
    return server.database
