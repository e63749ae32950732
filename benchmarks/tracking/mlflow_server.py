"""MLflow's tracking server, from an environment of its own, on a database of its own in a PostgreSQL that runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg2
from config.services.postgres import Postgres
from config.services.server import clean_environment, port_of, reserve_port

from benchmarks.publish import ROOT

ENVIRONMENT = ROOT / "benchmarks" / ".env-mlflow"
VERSION = "3.17.2"
PACKAGES = [f"mlflow=={VERSION}", "psycopg2-binary==2.9.13"]
DATABASE = "mlflow"
PATIENCE_SECONDS = 180.0
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


class MlflowClient:
    """Its REST interface over one connection, without a library in between."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)

    def renew(self) -> None:
        """The next request opens a connection: servers close those that are idle for some seconds."""
        self.connection.close()

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        self.connection.request("POST", f"/api/2.0/mlflow/{path}", json.dumps(body), headers)
        answer: dict[str, Any] = json.loads(self.read())
        return answer

    def get(self, path: str, query: list[tuple[str, str]]) -> bytes:
        self.connection.request("GET", f"{path}?{urlencode(query)}")
        return self.read()

    def read(self) -> bytes:
        response = self.connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise SystemExit(f"MLflow answered {response.status}: {content[:500].decode(errors='replace')}")
        return content


def ensure_mlflow() -> None:
    """Made once, in benchmarks/."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    known = subprocess.run([python, "-c", "import mlflow; print(mlflow.__version__)"], capture_output=True, text=True)
    if known.stdout.strip() != VERSION:
        print("Installing MLflow into benchmarks/.env-mlflow ...", flush=True)
        subprocess.run([ENVIRONMENT / "bin" / "pip", "install", "--quiet", *PACKAGES], check=True)


@contextmanager
def start_mlflow(postgres: Postgres) -> Iterator[MlflowClient]:
    """As `mlflow server` starts, with its usual number of processes; ended with all of them."""
    url = make_database(postgres)
    with tempfile.TemporaryDirectory() as folder, reserve_port() as holder:
        port, log = port_of(holder), Path(folder) / "log.txt"
        places = ["--backend-store-uri", url, "--default-artifact-root", folder]
        command = [ENVIRONMENT / "bin" / "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), *places]
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=folder, env=clean_environment() | QUIET, stdout=file, stderr=file, start_new_session=True
            )
        try:
            wait_for(process, port, log)
            yield MlflowClient(port)
        finally:
            end_group(process)


def make_database(postgres: Postgres) -> str:
    connection = psycopg2.connect(postgres.url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
    connection.close()
    return urlsplit(postgres.url)._replace(scheme="postgresql+psycopg2", path=f"/{DATABASE}").geturl()


def wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            connection = HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.5)
    raise SystemExit(f"MLflow's server did not start:\n{log.read_text(errors='replace')[-3000:]}")


def end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
