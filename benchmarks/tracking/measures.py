"""The same values written to and read from Tributary and MLflow, in turns. Django is set up for the database."""

from __future__ import annotations

import csv
import json
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from io import BytesIO, StringIO
from typing import Any

import psycopg2
from config.services.postgres import Postgres
from django.db import connection
from pyarrow import parquet

from benchmarks.export.measures import PATIENCE_SECONDS, start_web
from benchmarks.tracking.mlflow_server import DATABASE, MlflowClient, start_mlflow
from experiments.access.services.tokens import token_create
from experiments.models import Study, User
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, insert_rounds, rounds_record
from experiments.queue.services.workers import worker_enlist
from experiments.studies.services.launch import study_launch
from workers.engine.records import RoundRecord

METRICS = ("accuracy", "loss", "f1", "train_loss", "bytes_up", "bytes_down", "seconds", "seconds_train")
METRICS += ("seconds_aggregate", "seconds_evaluate", *(f"recall.{name}" for name in range(5)))
"""What a round of a run with five classes has: 15 values."""
CURVE = "accuracy"
PER_REQUEST = 100
"""Runs that one request of MLflow's for several may name."""
BATCH = 1000
"""Values that one request of MLflow's may write."""
BLOCK = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}}
Points = dict[tuple[int, int], float]


@dataclass(frozen=True)
class Sizes:
    runs: int = 200
    rounds: int = 100
    written: int = 100
    passes: int = 3


QUICK = Sizes(runs=20, rounds=20, written=10, passes=1)


def measure_tracking(postgres: Postgres, sizes: Sizes) -> dict[str, Any]:
    owner = User.objects.create(username="researcher")
    with start_mlflow(postgres) as mlflow:
        experiment = mlflow.post("experiments/create", {"name": "bench"})["experiment_id"]
        written = measure_writing(owner, mlflow, experiment, sizes)
        read = measure_reading(owner, mlflow, experiment, postgres, sizes)
    return {"runs": sizes.runs, "rounds": sizes.rounds, "values": len(METRICS), "write": written, "read": read}


def round_values(run: int, number: int) -> dict[str, float]:
    """A curve that rises towards a level of its own; exact in six digits, so that both give the same back."""
    level = 0.5 + (run * 37 % 97) / 200
    value = round(level * (1 - math.exp(-number / 15)), 6)
    return {name: round(value * (place + 1), 6) for place, name in enumerate(METRICS)}


def measure_writing(owner: User, mlflow: MlflowClient, experiment: str, sizes: Sizes) -> dict[str, list[float]]:
    """Seconds of one round, a median for each pass."""
    claim, run = claim_run(owner), create_run(mlflow, experiment)
    passes: dict[str, list[float]] = {"Tributary": [], "MLflow": []}
    for turn in range(sizes.passes):
        numbers = range(turn * sizes.written, (turn + 1) * sizes.written)
        passes["Tributary"].append(median_seconds(numbers, lambda number: write_round(claim, number)))
        mlflow.renew()
        passes["MLflow"].append(median_seconds(numbers, lambda number: log_round(mlflow, run, number)))
    return passes


def claim_run(owner: User) -> Claim:
    study_launch(owner=owner, name="Written", blocks=[{**BLOCK, "rounds": 10_000}])
    claim = run_claim(worker=worker_enlist(name="bench@here", host="here", device="cpu", threads=1))
    assert claim is not None
    return claim


def create_run(mlflow: MlflowClient, experiment: str) -> str:
    run = mlflow.post("runs/create", {"experiment_id": experiment, "start_time": milliseconds()})
    return str(run["run"]["info"]["run_id"])


def write_round(claim: Claim, number: int) -> None:
    """As a worker does: with its lease, and with what tells open pages of it."""
    rounds_record(claim=claim, records=[RoundRecord(number, round_values(0, number), tuple(range(10)))])


def log_round(mlflow: MlflowClient, run: str, number: int) -> None:
    mlflow.post("runs/log-batch", {"run_id": run, "metrics": metric_entities(0, number)})


def metric_entities(run: int, number: int) -> list[dict[str, Any]]:
    at = milliseconds()
    return [
        {"key": name, "value": value, "timestamp": at, "step": number}
        for name, value in round_values(run, number).items()
    ]


def milliseconds() -> int:
    return int(time.time() * 1000)


def measure_reading(
    owner: User, mlflow: MlflowClient, experiment: str, postgres: Postgres, sizes: Sizes
) -> dict[str, dict[str, Any]]:
    """Every point of one metric of all runs, by every way there is; passes in turns, the first fills caches."""
    study = study_launch(
        owner=owner, name="Read", blocks=[{**BLOCK, "rounds": sizes.rounds, "seeds": sizes.runs}], requires="gpu"
    )
    own_runs = list(study.runs.order_by("seed").values_list("pk", flat=True))
    mlflow.renew()
    their_runs = [create_run(mlflow, experiment) for _ in own_runs]
    fill_tributary(own_runs, sizes)
    fill_mlflow(mlflow, their_runs, sizes, postgres)
    _, secret = token_create(owner=owner, name="benchmark")
    with start_web() as (port, _):
        ways = tributary_ways(port, secret, study, own_runs) | mlflow_ways(mlflow, their_runs)
        expected = {
            (run, number): round_values(run, number)[CURVE]
            for run in range(sizes.runs)
            for number in range(sizes.rounds + 1)
        }
        results: dict[str, dict[str, Any]] = {name: {"passes": []} for name in ways}
        for turn in range(sizes.passes + 1):
            for name, (read, parse) in ways.items():
                mlflow.renew()
                begun = time.perf_counter()
                content = read()
                seconds = time.perf_counter() - begun
                if parse(content) != expected:
                    raise SystemExit(f"{name} did not give every point back as it was written.")
                if turn:
                    results[name]["passes"].append(seconds)
                results[name]["bytes"] = sum(map(len, content))
    return results


def fill_tributary(runs: Sequence[int], sizes: Sizes) -> None:
    for place, run in enumerate(runs):
        numbers = range(sizes.rounds + 1)
        insert_rounds(run, [RoundRecord(number, round_values(place, number), (0,)) for number in numbers])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE experiments_run SET rounds_done = %s WHERE id = ANY(%s)", [sizes.rounds, list(runs)])
        cursor.execute("VACUUM ANALYZE")


def fill_mlflow(mlflow: MlflowClient, runs: Sequence[str], sizes: Sizes, postgres: Postgres) -> None:
    mlflow.renew()
    for place, run in enumerate(runs):
        entities = [each for number in range(sizes.rounds + 1) for each in metric_entities(place, number)]
        for first in range(0, len(entities), BATCH):
            mlflow.post("runs/log-batch", {"run_id": run, "metrics": entities[first : first + BATCH]})
    database = psycopg2.connect(postgres.url, dbname=DATABASE)
    database.autocommit = True
    with database.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    database.close()


Way = tuple[Callable[[], list[bytes]], Callable[[list[bytes]], Points]]


def tributary_ways(port: int, secret: str, study: Study, runs: Sequence[int]) -> dict[str, Way]:
    places = {run: place for place, run in enumerate(runs)}

    def read(kind: str) -> list[bytes]:
        path = f"/api/v1/metrics?study={study.pk}&metric={CURVE}&format={kind}"
        client = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        client.request("GET", path, headers={"Authorization": f"Bearer {secret}"})
        response = client.getresponse()
        content = response.read()
        client.close()
        if response.status != 200:
            raise SystemExit(f"The export answered {response.status}: {content[:500].decode()}")
        return [content]

    def parse_csv(content: list[bytes]) -> Points:
        rows = csv.DictReader(StringIO(content[0].decode()))
        return {(places[int(row["run"])], int(row["round"])): float(row["value"]) for row in rows}

    def parse_parquet(content: list[bytes]) -> Points:
        table = parquet.read_table(BytesIO(content[0]), columns=["run", "round", "value"]).to_pydict()
        columns = zip(table["run"], table["round"], table["value"], strict=True)
        return {(places[int(run)], number): value for run, number, value in columns}

    return {
        "Tributary, csv": (lambda: read("csv"), parse_csv),
        "Tributary, parquet": (lambda: read("parquet"), parse_parquet),
    }


def mlflow_ways(mlflow: MlflowClient, runs: Sequence[str]) -> dict[str, Way]:
    """The documented interface gives one run a request; those of its own pages give a hundred."""
    places = {run: place for place, run in enumerate(runs)}
    groups = [runs[first : first + PER_REQUEST] for first in range(0, len(runs), PER_REQUEST)]
    key = ("metric_key", CURVE)

    def read_each() -> list[bytes]:
        return [mlflow.get("/api/2.0/mlflow/metrics/get-history", [("run_id", run), key]) for run in runs]

    def read_bulk() -> list[bytes]:
        path = "/ajax-api/2.0/mlflow/metrics/get-history-bulk"
        return [mlflow.get(path, [*(("run_id", run) for run in group), key]) for group in groups]

    def read_interval() -> list[bytes]:
        path, most = "/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval", ("max_results", "2500")
        return [mlflow.get(path, [*(("run_ids", run) for run in group), key, most]) for group in groups]

    def parse_each(content: list[bytes]) -> Points:
        parts = [(place, metric) for place, part in enumerate(content) for metric in json.loads(part)["metrics"]]
        return {(place, int(metric["step"])): metric["value"] for place, metric in parts}

    def parse_several(content: list[bytes]) -> Points:
        metrics = [metric for part in content for metric in json.loads(part)["metrics"]]
        return {(places[metric["run_id"]], int(metric["step"])): metric["value"] for metric in metrics}

    return {
        "MLflow, get-history": (read_each, parse_each),
        "MLflow, get-history-bulk": (read_bulk, parse_several),
        "MLflow, get-history-bulk-interval": (read_interval, parse_several),
    }


def median_seconds(numbers: Sequence[int], act: Callable[[int], object]) -> float:
    seconds = []
    for number in numbers:
        begun = time.perf_counter()
        act(number)
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)
