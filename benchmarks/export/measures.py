"""A lab full of numbers, and how fast they leave it. Django is set up for a database that is gone afterwards."""

from __future__ import annotations

import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from config.processes import child_environment, web_command
from config.services.server import port_of, reserve_port
from django.db import connection

from experiments.access.services.tokens import token_create
from experiments.models import User
from experiments.results.services.curves import insert_from_rows
from experiments.studies.services.launch import study_launch

CHUNK = 1 << 20
PATIENCE_SECONDS = 60
REPEATS = 3
KINDS = {"csv": "", "csv, gzipped": "gzip", "ndjson": "", "json": "", "parquet": ""}
METRICS = ["accuracy", "loss", "f1", "train_loss", "bytes_up", "bytes_down", "seconds", "seconds_train"]
METRICS += ["seconds_aggregate", "seconds_evaluate", *(f"recall.{each}" for each in range(10))]
ROWS = """
SELECT run.id, round, name, random()
FROM experiments_run AS run, generate_series(1, %s) AS round, unnest(%s) AS name
"""


@dataclass(frozen=True)
class LabSize:
    seeds: int
    rounds: int
    repeats: int = REPEATS

    @property
    def block(self) -> dict[str, Any]:
        """25 cells."""
        return {
            "dataset": {"name": "digits"},
            "model": {"name": "logistic"},
            "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.001, 0.01, 0.1, 1.0]}],
            "partition": [{"name": "iid"}, {"name": "label-dirichlet", "alpha": [0.1, 0.3, 0.5, 1.0]}],
            "rounds": self.rounds,
            "seeds": self.seeds,
        }

    @property
    def runs(self) -> int:
        return 25 * self.seeds

    @property
    def rows(self) -> int:
        return self.runs * self.rounds * len(METRICS)


LAB = LabSize(seeds=40, rounds=50)
"""1,000 runs with 50 rounds of 20 metrics: a million rows."""
SMALL_LAB = LabSize(seeds=2, rounds=10, repeats=1)


def measure_export(lab: LabSize) -> dict[str, Any]:
    owner = User.objects.create(username="researcher")
    study = study_launch(owner=owner, name="Large", blocks=[lab.block], requires="gpu").pk
    fill_metrics(lab)
    _, secret = token_create(owner=owner, name="benchmark")
    with start_web() as (port, process):
        idle = peak_bytes(process)
        formats = {name: measure_format(lab, port, secret, study, name, coding) for name, coding in KINDS.items()}
        return {
            "rows": lab.rows,
            "runs": lab.runs,
            "formats": formats,
            "idle_bytes": idle,
            "peak_bytes": peak_bytes(process),
        }


def fill_metrics(lab: LabSize) -> None:
    with connection.cursor() as cursor:
        cursor.execute(insert_from_rows(ROWS), [lab.rounds, METRICS])
        cursor.execute("UPDATE experiments_run SET rounds_done = %s", [lab.rounds])
        cursor.execute("VACUUM ANALYZE experiments_curveblock")


@contextmanager
def start_web() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    with reserve_port() as holder:
        port = port_of(holder)
        process = subprocess.Popen(web_command("127.0.0.1", port), env=child_environment())
        try:
            wait_for(port)
            yield port, process
        finally:
            process.terminate()
            process.wait(20)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            download(port, "/healthz", {})
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("The web server did not start.")


def measure_format(lab: LabSize, port: int, secret: str, study: int, name: str, coding: str) -> dict[str, Any]:
    """The median; the first one, which fills caches, is left out."""
    headers = {"Authorization": f"Bearer {secret}", "Accept-Encoding": coding}
    path = f"/api/v1/metrics?study={study}&format={name.partition(',')[0]}"
    seconds = []
    for _ in range(lab.repeats + 1):
        begun = time.perf_counter()
        size = download(port, path, headers)
        seconds.append(time.perf_counter() - begun)
    return {"seconds": statistics.median(seconds[1:]), "bytes": size}


def download(port: int, path: str, headers: dict[str, str]) -> int:
    client = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        client.request("GET", path, headers=headers)
        answer, size = client.getresponse(), 0
        if answer.status != 200:
            raise RuntimeError(answer.read().decode())
        while part := answer.read(CHUNK):
            size += len(part)
        return size
    finally:
        client.close()


def peak_bytes(process: subprocess.Popen[bytes]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kilobytes) * 1024
