import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from experiments.management.commands import launch
from experiments.management.commands.launch import Command
from experiments.models import Run, RunState, Study, User
from workers.errors import SpecError

STUDY = """
name: From a file
tags: [yaml]
blocks:
  - dataset: {name: digits}
    model: {name: mlp-50}
    strategy: {name: fedprox, mu: [1e-3, 0.1]}
    rounds: 2
    seeds: 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    return path


def output(*arguments: object, **options: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, **options)
    return out.getvalue()


def test_launch_reads_yaml_as_people_mean_it(file: Path, admin: User) -> None:
    text = output("launch", file)
    study = Study.objects.get()
    assert text.startswith(f"Launched study {study.pk}: 4 runs.\nAbout ")
    assert study.source == STUDY
    assert (study.name, study.tags, study.owner) == ("From a file", ["yaml"], admin)
    assert sorted({run.spec["strategy"]["mu"] for run in study.runs.all()}) == [0.001, 0.1]


def test_a_dry_run_counts_only(file: Path, admin: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody tries its model here, so its size has to do."""
    monkeypatch.setattr(launch, "TRIAL_SECONDS", 0)
    counted, estimated = output("launch", file, "--dry-run").splitlines()
    assert counted == "4 runs in 2 cells, 0 of them exist already."
    assert re.fullmatch(
        r"About .+ to .+ on one worker \(guessed\)\. 2\.41 MB would cross the network in a real deployment\.",
        estimated,
    )
    assert not Study.objects.exists()


def test_launch_can_name_the_owner(file: Path, admin: User, owner: User) -> None:
    output("launch", file, "--owner", "owner")
    assert Study.objects.get().owner == owner
    with pytest.raises(CommandError, match="There is no user nobody"):
        output("launch", file, "--owner", "nobody")


def test_waiting_ends_when_every_run_is_done(file: Path, admin: User) -> None:
    output("launch", file)
    Run.objects.update(state=RunState.DONE)
    assert output("launch", file, "--wait").endswith("4 done\n")


def test_waiting_fails_when_a_run_failed(file: Path, admin: User) -> None:
    output("launch", file)
    Run.objects.update(state=RunState.DONE)
    Run.objects.filter(pk=Run.objects.earliest("pk").pk).update(state=RunState.FAILED)
    waiting = Command(stdout=StringIO())
    with pytest.raises(CommandError, match="Not every run is done"):
        waiting.wait(Study.objects.get())


def test_a_file_that_is_no_study_is_refused_with_paths(tmp_path: Path, admin: User) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("nam: x\nblocks: [{}]\n")
    with pytest.raises(SpecError) as caught:
        output("launch", path)
    assert [problem.path for problem in caught.value.errors] == ["nam", "name"]


def test_createuser_prints_a_password_once(db: None) -> None:
    text = output("createuser", "anna", role="viewer")
    assert text.startswith("Created anna (viewer).\nPassword, shown only now: ")
    assert User.objects.get(username="anna").check_password(text.rsplit(": ")[1].strip())


def test_role_changes_what_a_person_may_do(owner: User, admin: User) -> None:
    assert output("role", "owner", "viewer") == "owner is viewer from now on.\n"
    owner.refresh_from_db()
    assert owner.role == "viewer"
    with pytest.raises(CommandError, match="There is no user nobody"):
        output("role", "nobody", "admin")
