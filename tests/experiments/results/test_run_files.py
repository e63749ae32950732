from __future__ import annotations

import pytest

from experiments.models import Run, User
from experiments.results.selectors.files import RunFile, artifact_path, run_files
from tests.experiments import lab
from workers.home import home, run_folder


@pytest.fixture
def run(owner: User) -> Run:
    run = lab.runs_in_order(lab.launched(owner))[0]
    (run_folder(run.pk) / "artifacts" / "t").mkdir(parents=True)
    run.artifact = f"runs/{run.pk}/artifacts/t/model.safetensors"
    return run


def test_it_lists_what_is_there(run: Run) -> None:
    assert [each.name for each in run_files(run)] == ["spec.yaml"]
    (home() / run.artifact).write_bytes(b"12345")
    (run_folder(run.pk) / "log.txt").write_text("ready\n")
    assert run_files(run)[1:] == [
        RunFile("model.safetensors", "The final model's parameters", 5),
        RunFile("log.txt", "Everything that the run said", 6),
    ]


@pytest.mark.parametrize("path", ["", "../secret", "runs/999999/artifacts/x", "/etc/passwd", "runs/{}/../../secret"])
def test_it_never_leaves_the_runs_own_folder(run: Run, path: str) -> None:
    run.artifact = path.format(run.pk)
    assert artifact_path(run) is None
