"""A grid through the platform, on the engine alone, by a plain script, and by Flower's simulator, in turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from config.processes import child_environment
from django.db.models import Max, Sum

from benchmarks.engine.contenders.clock import STARTED
from benchmarks.engine.contests import Setting, contender_environment
from benchmarks.publish import ROOT
from benchmarks.study.grids import StudyGrid
from benchmarks.study.lab import WORKERS, wait_until_done
from experiments.models import Metric, Study, User
from experiments.studies.services.launch import study_launch
from workers.engine.federation import make_federation
from workers.spec import expand, parse_run

Specs = list[dict[str, Any]]
FLOWER_SETTING = Setting(processes=2)
PARTS = ("seconds_train", "seconds_aggregate", "seconds_evaluate")


def measure_grid(owner: User, grid: StudyGrid) -> dict[str, Any]:
    """Engine and plain script before and after the platform: what the machine did meanwhile is seen in both."""
    specs = one_seed(grid.block)
    with tempfile.TemporaryDirectory() as folder:
        data = federation_file(specs[0], Path(folder))
        passes = {"engine": [time_engine(specs)], "plain": [time_plain(grid, specs, data)]}
        result = measure_study(owner, grid.title, [grid.block])
        passes["plain"].append(time_plain(grid, specs, data))
        passes["engine"].append(time_engine(specs))
    return {
        **result,
        "rounds": grid.rounds,
        "data": "made" if grid.is_made else grid.dataset,
        "plain_rounds": grid.plain_rounds,
        "cells": cell_seconds(specs, passes),
        **{name: [share_out(each, grid.seeds) for each in both] for name, both in passes.items()},
    }


def measure_study(
    owner: User, name: str, blocks: Sequence[Mapping[str, Any]], tags: Sequence[str] = ()
) -> dict[str, Any]:
    """From the launch to the last end. `train` and `compute` are shares of what the workers' time was."""
    study = study_launch(owner=owner, name=name, blocks=blocks, reuse=False, tags=tags)
    print(f"{name}: {study.runs.count()} runs launched", flush=True)
    wait_until_done(study)
    last = study.runs.aggregate(last=Max("finished"))["last"]
    wall = (last - study.created).total_seconds()
    shares = {part: seconds / (WORKERS * wall) for part, seconds in part_seconds(study).items()}
    own = sum(provenance["seconds"] for provenance in study.runs.values_list("provenance", flat=True))
    return {
        "study": study.pk,
        "runs": study.runs.count(),
        "wall": wall,
        "shares": shares,
        "own": own / (WORKERS * wall),
    }


def part_seconds(study: Study) -> dict[str, float]:
    rows = Metric.objects.filter(run__studies=study, name__in=PARTS).values("name").annotate(total=Sum("value"))
    return {row["name"].removeprefix("seconds_"): row["total"] for row in rows}


def one_seed(block: Mapping[str, Any]) -> Specs:
    """A run of every cell, all with the first seed."""
    return [dict(run.spec.model_dump(mode="json")) for run in expand([{**block, "seeds": 1}], limit=10_000).runs]


def federation_file(spec: Mapping[str, Any], folder: Path) -> Path:
    """The numbers of the data set and who owns each sample, without anything shared."""
    federation = make_federation(parse_run({**spec, "hybrid": {"method": "share-disjoint", "ratio": 0.0}}))
    owner = np.empty(len(federation.y), dtype=np.int64)
    for place, client in enumerate(federation.clients):
        owner[client.train] = place
    path = folder / "federation.npz"
    arrays = {"x": federation.x, "y": federation.y, "test_x": federation.test_x, "test_y": federation.test_y}
    np.savez(path, owner=owner, **{name: np.asarray(array) for name, array in arrays.items()})
    return path


def time_engine(specs: Specs) -> list[float]:
    return [run["seconds"] for run in in_processes("engine_alone", specs)]


def time_plain(grid: StudyGrid, specs: Specs, data: Path) -> list[float]:
    """Seconds a run: some rounds are timed and stand for all."""
    runs = in_processes("plain", specs, data=str(data), rounds=grid.plain_rounds)
    return [run["setup"] + statistics.fmean(run["rounds"]) * grid.rounds for run in runs]


def in_processes(script: str, specs: Specs, **job: Any) -> list[dict[str, Any]]:
    """What the script tells of each spec; one process a worker, each with one thread and every second spec."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as children:
        shares = [specs[number::WORKERS] for number in range(min(WORKERS, len(specs)))]
        scripts = [
            Script(script, Path(name) / str(number), {**job, "specs": each}) for number, each in enumerate(shares)
        ]
        for each in scripts:
            children.callback(each.end)
        answers: list[dict[str, Any]] = [{} for _ in specs]
        for number, each in enumerate(scripts):
            answers[number::WORKERS] = each.answer()
    return answers


class Script:
    """A module of this package in a process of its own, in a folder of its own."""

    def __init__(self, name: str, folder: Path, job: Mapping[str, Any]) -> None:
        folder.mkdir()
        self.name, self.out, self.log = name, folder / "out.json", folder / "log.txt"
        (folder / "job.json").write_text(json.dumps(job))
        command = [sys.executable, "-m", f"benchmarks.study.{name}", str(folder / "job.json"), str(self.out)]
        environment = child_environment(OMP_NUM_THREADS="1", TRIBUTARY_THREADS="1")
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=file)

    def answer(self) -> list[dict[str, Any]]:
        if self.process.wait():
            raise SystemExit(f"{self.name} failed:\n{self.log.read_text(errors='replace')[-3000:]}")
        answer: list[dict[str, Any]] = json.loads(self.out.read_text())
        return answer

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def share_out(seconds: Sequence[float], seeds: int) -> float:
    """Seconds that all seeds take on all workers, were the work shared out without a rest."""
    return sum(seconds) * seeds / WORKERS


def cell_seconds(specs: Specs, passes: Mapping[str, Sequence[Sequence[float]]]) -> list[dict[str, Any]]:
    """Of each cell what a run took, by contender: medians over the passes."""
    return [
        {
            "optimizer": spec["local"]["optimizer"],
            "ratio": spec["hybrid"]["ratio"],
            **{name: statistics.median(each[place] for each in both) for name, both in passes.items()},
        }
        for place, spec in enumerate(specs)
    ]


def time_flower(rounds: int, test_samples: int) -> dict[str, float]:
    """One run of Flower's simulator in a fresh process that evaluates every round: to its end, and its rounds alone."""
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "out.json", Path(folder) / "log.txt"
        options = {"rounds": rounds, "processes": FLOWER_SETTING.processes, "test": test_samples, "out": out}
        flags = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
        command = [sys.executable, "-m", "benchmarks.engine.contenders.flower_ray", "logistic", *flags]
        begun = time.time()
        with log.open("wb") as file:
            environment = contender_environment(FLOWER_SETTING) | {STARTED: str(begun)}
            process = subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=file)
        if process.returncode or not out.exists():
            raise SystemExit(f"Flower's simulator failed:\n{log.read_text(errors='replace')[-3000:]}")
        return {"process": time.time() - begun, "rounds": sum(json.loads(out.read_text())["rounds"])}
