from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from experiments.models import Role, Run, RunState, Study, User
from experiments.presets.preset import presets
from experiments.stored_runs.files import StoredRun, StoredRunsError, merge_runs, read_folder, read_runs, write_runs
from experiments.stored_runs.services import collect_runs, load_runs
from experiments.studies.services.launch import study_launch, study_plan
from tests.experiments.lab import BLOCK, record, runs_in_order
from workers.engine_version import ENGINE_VERSION

PRESET = presets()["iaisy-2024"]
RUN = StoredRun(
    hash="a" * 64,
    cell="c" * 64,
    seed=3,
    engine_version=2,
    engine="cohort",
    device_type="cpu",
    finished="2026-03-01T12:00:30+00:00",
    spec={"rounds": 2, "seed": 3},
    provenance={"seconds": 30.0},
    findings={},
    curves={"accuracy": {0: 0.1, 1: 0.5, 2: 0.875}},
)


def reproduction(owner: User, **changes: Any) -> Study:
    tags = ["reproduction", PRESET.name]
    block = {**BLOCK, "strategy": {"name": "fedavg"}, "seeds": 2, **changes}
    return study_launch(owner=owner, name="Small", blocks=[block], tags=tags, requires="cpu")


def finish(study: Study) -> None:
    for run in runs_in_order(study):
        run.device_type = "cpu"
        record(run, {"accuracy": [0.1, 0.5, 0.75 + run.seed / 8], "recall.3": [0.0, 0.1, 0.2], "seconds": [1, 1, 1]})


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    write_runs(tmp_path / "some.parquet", [replace(RUN, seed=4, hash="b" * 64), RUN])
    assert read_runs(tmp_path / "some.parquet") == [RUN, replace(RUN, seed=4, hash="b" * 64)]


def test_a_run_is_stored_once_and_the_first_curves_stay() -> None:
    other = replace(RUN, curves={"accuracy": {0: 0.1, 1: 0.6}})
    merged = merge_runs([RUN], [RUN, other, replace(RUN, hash="b" * 64), replace(RUN, device_type="cuda")])
    assert (len(merged.runs), merged.added, merged.conflicts) == (3, 2, ("a" * 64,))
    assert merged.runs[0] == RUN


def test_several_files_of_a_preset_add_up(tmp_path: Path) -> None:
    write_runs(tmp_path / "iaisy-2024.parquet", [RUN])
    write_runs(tmp_path / "iaisy-2024.other-machine.parquet", [RUN, replace(RUN, hash="b" * 64)])
    assert [run.hash[0] for run in read_folder(tmp_path)["iaisy-2024"]] == ["a", "b"]


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "some.parquet").write_bytes(b"nothing")
    with pytest.raises(StoredRunsError, match=r"some\.parquet holds no stored runs"):
        read_runs(tmp_path / "some.parquet")


@pytest.mark.django_db
def test_done_runs_of_tagged_studies_are_collected_without_what_no_report_reads(owner: User) -> None:
    study = reproduction(owner)
    assert collect_runs(PRESET) == []
    finish(study)
    stored = collect_runs(PRESET)
    assert [(run.seed, run.curves) for run in stored] == [
        (0, {"accuracy": {0: 0.1, 1: 0.5, 2: 0.75}}),
        (1, {"accuracy": {0: 0.1, 1: 0.5, 2: 0.875}}),
    ]
    assert [run.engine_version for run in stored] == [ENGINE_VERSION] * 2
    assert collect_runs(presets()["mazarakis-2023"]) == []


@pytest.mark.django_db
def test_what_was_brought_back_is_not_computed_again(owner: User) -> None:
    study = reproduction(owner)
    finish(study)
    stored = collect_runs(PRESET)
    Run.objects.all().delete()
    Study.objects.all().delete()

    report = load_runs(owner=owner, preset=PRESET, stored=stored)
    assert (report.new, report.had, report.computing) == (2, 0, 0)
    run = Run.objects.get(seed=1)
    assert (run.state, run.rounds_done, run.hash) == (RunState.DONE, 2, stored[1].hash)
    assert run.provenance["imported"].startswith("from stored results")
    assert list(run.metrics.order_by("round").values_list("value", flat=True)) == [0.1, 0.5, 0.875]
    blocks = [{**BLOCK, "strategy": {"name": "fedavg"}, "seeds": 3}]
    assert study_plan(owner=owner, blocks=blocks).reused == 2
    assert collect_runs(PRESET) == []  # what came from files does not go into files again

    again = load_runs(owner=owner, preset=PRESET, stored=stored)
    assert (again.study.pk, again.new, again.had) == (report.study.pk, 0, 2)
    assert again.study.runs.count() == 2


@pytest.mark.django_db
def test_the_study_of_stored_runs_has_a_page_and_can_be_compared(owner: User) -> None:
    study = reproduction(owner, local={"class_weights": [[1.0] * 10]})
    finish(study)
    stored = collect_runs(PRESET)
    Study.objects.all().delete()
    report = load_runs(owner=owner, preset=PRESET, stored=stored)
    client = Client()
    client.force_login(owner)

    assert client.get(f"/studies/{report.study.pk}").status_code == 200
    assert client.get(f"/presets/{PRESET.name}?study={report.study.pk}").status_code == 200
    assert client.get(f"/studies/new?study={report.study.pk}").status_code == 200
    assert report.study.blocks[0]["local"]["class_weights"] == [[1.0] * 10]
    assert report.study.blocks[0]["seeds"] == [0, 1]


@pytest.mark.django_db
def test_the_command_saves_merges_and_loads(owner: User, tmp_path: Path) -> None:
    owner.role = Role.ADMIN
    owner.save()
    out = StringIO()
    study = reproduction(owner)
    finish(study)
    call_command("stored_runs", "save", str(tmp_path), stdout=out)
    call_command("stored_runs", "save", str(tmp_path), stdout=out)
    call_command("stored_runs", "load", str(tmp_path), stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("iaisy-2024: 2 new, 2 stored, ")
    assert lines[1].startswith("iaisy-2024: 0 new, 2 stored, ")
    assert lines[2].startswith("iaisy-2024: 0 runs brought back, 2 were here: study ")
