"""What a run left on disk that people may take away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.editor.order import spec_yaml
from experiments.models import Run
from workers.home import home, log_file, run_folder

MODEL, SPEC, LOG = "model.safetensors", "spec.yaml", "log.txt"


@dataclass(frozen=True)
class RunFile:
    name: str
    what: str
    bytes: int


def run_files(run: Run) -> list[RunFile]:
    told = {MODEL: "The final model's parameters", LOG: "Everything that the run said"}
    found = [(name, path) for name, path in paths_of(run).items() if path.is_file()]
    spec = RunFile(SPEC, "The spec: run it again with python -m workers.engine", len(spec_yaml(run.spec).encode()))
    return [spec, *(RunFile(name, told[name], path.stat().st_size) for name, path in found)]


def paths_of(run: Run) -> dict[str, Path]:
    model = artifact_path(run)
    return {**({MODEL: model} if model else {}), LOG: log_file(run.pk)}


def artifact_path(run: Run) -> Path | None:
    """Where the stored path says, but only inside the run's own folder."""
    if not run.artifact:
        return None
    path = (home() / run.artifact).resolve()
    return path if path.is_relative_to(run_folder(run.pk).resolve()) else None
