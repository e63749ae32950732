"""Every client in turn, each in a process of its own, and a count of what its server then has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config.processes import child_environment, web_command
from config.services.postgres import Postgres
from config.services.server import clean_environment, port_of, reserve_port
from tributary import Connection, Login

from benchmarks.export.measures import wait_for
from benchmarks.logged.loops import VALUES
from benchmarks.logged.outage import log_through_outage, lost_or_doubled
from benchmarks.publish import ROOT
from benchmarks.tracking.mlflow_server import ENVIRONMENT as MLFLOW
from benchmarks.tracking.mlflow_server import QUIET, MlflowClient, start_mlflow
from experiments.access.services.tokens import token_create
from experiments.models import Metric, Run, User

CLIENT_SOURCES = ROOT / "clients" / "python" / "src"
TRACKIO = ROOT / "benchmarks" / ".env-trackio"
TRACKIO_VERSION = "0.43.0"
LOOPS = Path(__file__).with_name("loops.py")
NAMES = {
    "tributary": "Tributary",
    "mlflow": "MLflow",
    "mlflow-async": "MLflow, synchronous=False",
    "trackio": "trackio",
}
Passes = dict[str, list[dict[str, float]]]


def ensure_trackio() -> None:
    """Made once, in benchmarks/."""
    python = TRACKIO / "bin" / "python"
    if not python.exists():
        venv.create(TRACKIO, with_pip=True)
    known = subprocess.run([python, "-c", "import trackio; print(trackio.__version__)"], capture_output=True, text=True)
    if known.stdout.strip() != TRACKIO_VERSION:
        print("Installing trackio into benchmarks/.env-trackio ...", flush=True)
        subprocess.run([TRACKIO / "bin" / "pip", "install", "--quiet", f"trackio=={TRACKIO_VERSION}"], check=True)


class RestartedWeb:
    """The platform's web server at one address, stopped and started again."""

    def __init__(self) -> None:
        with reserve_port() as holder:
            self.port = port_of(holder)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(web_command("127.0.0.1", self.port), env=child_environment())
        wait_for(self.port)

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(30)
            self.process = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running_web() -> Iterator[RestartedWeb]:
    web = RestartedWeb()
    try:
        web.start()
        yield web
    finally:
        web.stop()


def make_token() -> str:
    owner, _ = User.objects.get_or_create(username="researcher", role="member")
    return token_create(owner=owner, name="loop", scope="write")[1]


def measure_clients(postgres: Postgres, calls: int, turns: int) -> Passes:
    results: Passes = {name: [] for name in NAMES.values()}
    with running_web() as web, start_mlflow(postgres) as mlflow, tempfile.TemporaryDirectory() as scratch:
        for turn in range(turns):
            folder = Path(scratch) / str(turn)
            own = {
                "PYTHONPATH": str(CLIENT_SOURCES),
                "TRIBUTARY_URL": web.address,
                "TRIBUTARY_TOKEN": make_token(),
                "TRIBUTARY_OUTBOX": str(folder / "outbox"),
            }
            theirs = QUIET | {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{mlflow.port}"}
            loops: dict[str, tuple[Path | str, dict[str, str], Callable[[], int] | None]] = {
                "tributary": (sys.executable, own, lambda: stored_here(calls)),
                "mlflow": (MLFLOW / "bin" / "python", theirs, lambda: stored_in_mlflow(mlflow)),
                "mlflow-async": (MLFLOW / "bin" / "python", theirs, lambda: stored_in_mlflow(mlflow)),
                "trackio": (TRACKIO / "bin" / "python", {"TRACKIO_DIR": str(folder / "trackio")}, None),
            }
            for client, (python, environment, count) in loops.items():
                measured = run_loop(python, client, calls, environment)
                stored = count() if count else measured.pop("stored")
                if stored != calls * len(VALUES):
                    raise SystemExit(f"{NAMES[client]}: {stored} of {calls * len(VALUES)} values were stored.")
                results[NAMES[client]].append(measured)
    return results


def run_loop(python: Path | str, client: str, calls: int, environment: dict[str, str]) -> dict[str, Any]:
    command = [str(python), str(LOOPS), client, str(calls)]
    done = subprocess.run(
        command, env=clean_environment() | environment, capture_output=True, text=True, cwd=tempfile.gettempdir()
    )
    if done.returncode:
        raise SystemExit(f"{client}: {done.stderr[-3000:]}")
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def stored_here(calls: int) -> int:
    run = Run.objects.latest("pk")
    return Metric.objects.filter(run=run, round__lt=calls).count()


def stored_in_mlflow(mlflow: MlflowClient) -> int:
    """Of the latest run."""
    mlflow.renew()
    wanted = {"experiment_ids": ["0"], "max_results": 1, "order_by": ["attributes.start_time DESC"]}
    run = mlflow.post("runs/search", wanted)["runs"][0]["info"]["run_id"]
    count, token = 0, ""
    for name in VALUES:
        while True:
            query = [("run_id", run), ("metric_key", name), ("max_results", "5000"), ("page_token", token)]
            page = json.loads(mlflow.get("/api/2.0/mlflow/metrics/get-history", [each for each in query if each[1]]))
            count += len(page.get("metrics", []))
            token = page.get("next_page_token", "")
            if not token:
                break
    return count


def measure_outage(calls: int, seconds: float) -> list[str]:
    """What was lost or doubled."""
    with running_web() as web, tempfile.TemporaryDirectory() as outbox:
        os.environ["TRIBUTARY_OUTBOX"] = outbox
        lab = Connection(Login(web.address, make_token()))
        run = log_through_outage(lab, calls=calls, seconds=seconds, stop=web.stop, start=web.start)
        lab.close()
    return lost_or_doubled(run, calls)
