"""A study leaves for TensorBoard or MLflow: the runs that have ended, made of the study's archive."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from tributary.connection import LabError
from tributary.event_files import ScalarEvent, write_events
from tributary.import_sources import mlflow_client, pages
from tributary.logged import flat_config
from tributary.studies import Study

EVENTS = "events.out.tfevents.0.tributary"
MODEL = "model.safetensors"
MLFLOW_STATES = {"done": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}
METRICS_AT_ONCE, PARAMS_AT_ONCE = 1000, 100
"""What MLflow takes in one request."""
LONGEST_PARAM = 6000
ODD_CHARACTERS = re.compile(r"[^\w.\- /:]")
RUN, COMPLETE, LAB_STUDY = "tributary.run", "tributary.complete", "tributary.study"


@contextmanager
def open_archive(study: Study) -> Iterator[zipfile.ZipFile]:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "study.zip"
        download_archive(study, path)
        with zipfile.ZipFile(path) as archive:
            yield archive


def download_archive(study: Study, path: Path) -> None:
    with study.lab.http.stream("GET", f"/studies/{study.id}/archive") as answer, path.open("wb") as file:
        if not answer.is_success:
            answer.read()
            raise LabError(answer.status_code, answer.text)
        for chunk in answer.iter_bytes():
            file.write(chunk)


def archived_runs(archive: zipfile.ZipFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """The folder of each run, and what is known of it."""
    for place in range(json.loads(archive.read("study.json"))["runs"]):
        folder = f"runs/{place:04}"
        yield folder, json.loads(archive.read(f"{folder}/run.json"))


def archived_values(archive: zipfile.ZipFile, folder: str) -> Iterator[tuple[float, int, str, float]]:
    """Moment, round, metric and value."""
    with archive.open(f"{folder}/rounds.jsonl") as lines:
        for line in lines:
            each: dict[str, Any] = json.loads(line)
            moment = datetime.fromisoformat(each["committed"]).timestamp()
            for name, value in each["metrics"].items():
                yield moment, each["round"], name, float(value)


def export_tensorboard(study: Study, folder: str | Path) -> int:
    """FOLDER/run-PLACE-seed-SEED for each run. Written again, each file takes the place of the one before."""
    count = 0
    with open_archive(study) as archive:
        for inner, about in archived_runs(archive):
            target = Path(folder) / f"run-{inner.rpartition('/')[2]}-seed-{about['seed']}"
            target.mkdir(parents=True, exist_ok=True)
            (target / "run.json").write_text(json.dumps(about["spec"], indent=1))
            write_events(target / EVENTS, (ScalarEvent(*each) for each in archived_values(archive, inner)))
            count += 1
    return count


def export_mlflow(study: Study, address: str) -> dict[str, int]:
    """An experiment with the study's name, a run for each of its own; how many are new there, and how many known.

    A run is told by a tag. One that an export had not written to its end is written anew.
    """
    client = mlflow_client(address)
    experiment = client.get_experiment_by_name(study.name)
    number = experiment.experiment_id if experiment else client.create_experiment(study.name)
    known = {
        run.data.tags[RUN]: run
        for run in pages(lambda **query: client.search_runs([number], **query))
        if RUN in run.data.tags
    }
    counts = {"new": 0, "known": 0}
    with open_archive(study) as archive:
        for inner, about in archived_runs(archive):
            before = known.get(about["hash"])
            if before is not None and before.data.tags.get(COMPLETE):
                counts["known"] += 1
                continue
            if before is not None:
                client.delete_run(before.info.run_id)
            write_mlflow_run(client, number, study, archive, inner, about)
            counts["new"] += 1
    return counts


def write_mlflow_run(
    client: Any, experiment: str, study: Study, archive: zipfile.ZipFile, folder: str, about: dict[str, Any]
) -> None:
    from mlflow.entities import Metric, Param

    started, finished = milliseconds(about["started"]), milliseconds(about["finished"])
    name = f"run-{folder.rpartition('/')[2]}-seed-{about['seed']}"
    run = client.create_run(experiment, start_time=started, tags=mlflow_tags(study, about), run_name=name).info.run_id
    params = [Param(key, value) for key, value in mlflow_params(about["spec"]).items()]
    for first in range(0, len(params), PARAMS_AT_ONCE):
        client.log_batch(run, params=params[first : first + PARAMS_AT_ONCE])
    values = [
        Metric(ODD_CHARACTERS.sub("_", metric), value, int(1000 * moment), at)
        for moment, at, metric, value in archived_values(archive, folder)
    ]
    for first in range(0, len(values), METRICS_AT_ONCE):
        client.log_batch(run, metrics=values[first : first + METRICS_AT_ONCE])
    client.log_dict(run, about["spec"], "spec.json")
    if f"{folder}/{MODEL}" in archive.namelist():
        with tempfile.TemporaryDirectory() as scratch:
            client.log_artifact(run, archive.extract(f"{folder}/{MODEL}", scratch), "model")
    client.set_tag(run, COMPLETE, "yes")
    client.set_terminated(run, MLFLOW_STATES[about["state"]], finished)


def mlflow_params(spec: Mapping[str, Any]) -> dict[str, str]:
    """Every field of the spec under its path; what is not set is left out."""
    flat = flat_config({key: value for key, value in spec.items() if value is not None})
    return {ODD_CHARACTERS.sub("_", key): str(value)[:LONGEST_PARAM] for key, value in flat.items() if value != "None"}


def mlflow_tags(study: Study, about: Mapping[str, Any]) -> dict[str, str]:
    """Who looks at it in MLflow finds the run here, and what computed it."""
    provenance = about["provenance"] or {}
    logged = provenance.get("logged") or {}
    tags = {
        RUN: about["hash"],
        LAB_STUDY: study.address,
        "tributary.cell": about["cell"],
        "tributary.seed": str(about["seed"]),
        "tributary.state": about["state"],
        "tributary.computed": "by a script, and logged" if logged else "by the lab",
        "mlflow.source.name": "Tributary",
        "mlflow.source.git.commit": logged.get("commit", ""),
        "mlflow.note.content": about["reason"] or "",
    }
    return {name: value for name, value in tags.items() if value}


def milliseconds(moment: str | None) -> int | None:
    return int(1000 * datetime.fromisoformat(moment).timestamp()) if moment else None
