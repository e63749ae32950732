"""MLflow, in an environment of its own, as a source of results and as a reader of them. Part of `make integration`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tributary
from tributary import Connection

from benchmarks.tracking.mlflow_server import ENVIRONMENT, QUIET, ensure_mlflow
from experiments.models import Metric, Run, RunState, Study
from workers.home import home

SOURCES = Path(__file__).parents[2] / "clients" / "python" / "src"
PYTHON = ENVIRONMENT / "bin" / "python"
RATES, SEEDS, STEPS = (0.1, 0.2, 0.3, 0.4), 25, 8
FILL_STORE = """
import sys
from mlflow import MlflowClient
from mlflow.entities import Metric, Param
client = MlflowClient(tracking_uri=sys.argv[1])
number = client.create_experiment("Sweep of 2024")
for rate in (0.1, 0.2, 0.3, 0.4):
    for seed in range(25):
        run = client.create_run(number).info.run_id
        params = [Param("lr", str(rate)), Param("seed", str(seed)), Param("optimiser", "sgd")]
        values = [Metric("accuracy", rate + seed / 1000 + step / 100, step, step) for step in range(8)]
        values += [Metric("loss", float("nan") if step == 7 else 2.0 - step / 8, step, step) for step in range(8)]
        client.log_batch(run, metrics=values, params=params)
        client.set_terminated(run)
"""
READ_STORE = """
import json, sys
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
experiments = {each.name: each.experiment_id for each in client.search_experiments()}
runs = []
for run in client.search_runs([experiments[sys.argv[2]]]):
    number = run.info.run_id
    histories = {name: client.get_metric_history(number, name) for name in run.data.metrics}
    model = client.download_artifacts(number, "model/model.safetensors", ".")
    runs.append({
        "status": run.info.status,
        "params": run.data.params,
        "tags": run.data.tags,
        "metrics": {name: [[point.step, repr(point.value)] for point in each] for name, each in histories.items()},
        "spec": json.loads(open(client.download_artifacts(number, "spec.json", ".")).read()),
        "model": open(model, "rb").read().hex(),
    })
print(json.dumps(runs))
"""


@pytest.fixture(scope="module", autouse=True)
def mlflow() -> None:
    """With what the client needs besides."""
    ensure_mlflow()
    if subprocess.run([PYTHON, "-c", "import httpx"], capture_output=True, check=False).returncode:
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "httpx"], check=True)


@pytest.fixture
def in_mlflows_environment(lab: Connection, tmp_path: Path) -> Callable[..., str]:
    """What a command of MLflow's Python says; it has the client's sources and the person's token."""
    environment = {
        **os.environ,
        **QUIET,
        "PYTHONPATH": str(SOURCES),
        "TRIBUTARY_URL": lab.login.address,
        "TRIBUTARY_TOKEN": lab.login.token,
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [PYTHON, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    return run


def test_a_store_of_100_runs_is_imported_once_and_compared(
    lab: Connection, in_mlflows_environment: Callable[..., str], tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/theirs.db"
    in_mlflows_environment("-c", FILL_STORE, store)
    command = ("-m", "tributary.command_line", "import", "mlflow", store)
    assert len(in_mlflows_environment(*command, "--dry-run").splitlines()) == 101
    assert not Study.objects.exists()
    assert "100 runs imported, 0 were there." in in_mlflows_environment(*command)
    assert "0 runs imported, 100 were there." in in_mlflows_environment(*command)

    study = Study.objects.get()
    assert (study.name, study.runs.filter(state=RunState.DONE).count()) == ("Sweep of 2024", 100)
    assert Metric.objects.count() == 100 * STEPS * 2
    assert [str(each.value) for each in Metric.objects.filter(name="loss", round=7)[:1]] == ["nan"]
    rows = lab.get(f"/studies/{study.pk}/summary", by="app.lr", metric="accuracy")["rows"]
    # The last step adds 0.07, and the mean of seeds 0 to 24 is 12.
    assert [(row["group"]["app.lr"], round(row["mean"], 9), row["n"]) for row in rows] == [
        (rate, round(rate + 0.07 + 0.012, 9), SEEDS) for rate in RATES
    ]
    verdicts = lab.get("/compare/verdicts", study=study.pk, metric="accuracy", compared="app.lr")["verdicts"]
    assert len(verdicts) == 6
    assert {each["seeds"] for each in verdicts} == {25}
    assert all("is better (25 seeds)" in each["verdict"] for each in verdicts), verdicts


def test_mlflows_client_reads_a_study_that_was_exported(
    lab: Connection, in_mlflows_environment: Callable[..., str], tmp_path: Path
) -> None:
    block: dict[str, Any] = {
        "dataset": {"name": "digits"},
        "model": {"name": "logistic"},
        "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}],
        "clients": 3,
        "rounds": 2,
        "seeds": 2,
    }
    study = tributary.launch({"name": "For MLflow", "blocks": [block]}).wait(every=0.2, timeout=180, quiet=True)
    assert study.counts["done"] == 4
    store = f"sqlite:///{tmp_path}/ours.db"
    command = ("-m", "tributary.command_line", "export", str(study.id), store, "--to", "mlflow")
    assert "4 runs written, 0 were there" in in_mlflows_environment(*command)
    assert "0 runs written, 4 were there" in in_mlflows_environment(*command)

    read = json.loads(in_mlflows_environment("-c", READ_STORE, store, "For MLflow"))
    by_hash = {each["tags"]["tributary.run"]: each for each in read}
    runs = list(Run.objects.all())
    assert set(by_hash) == {run.hash for run in runs}
    for run in runs:
        theirs = by_hash[run.hash]
        assert (theirs["status"], theirs["tags"]["tributary.study"]) == ("FINISHED", study.address)
        assert (theirs["params"]["strategy.name"], theirs["params"]["seed"]) == (
            run.spec["strategy"]["name"],
            str(run.seed),
        )
        assert theirs["params"].get("strategy.mu") == ("0.1" if run.spec["strategy"]["name"] == "fedprox" else None)
        assert theirs["spec"] == run.spec
        own = {}
        for name, at, value in Metric.objects.filter(run=run).order_by("round").values_list("name", "round", "value"):
            own.setdefault(name.replace("[", "_"), []).append([at, repr(value)])
        assert theirs["metrics"] == own
        assert bytes.fromhex(theirs["model"]) == (home() / run.artifact).read_bytes()
