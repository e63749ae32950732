"""A study leaves as one file and comes back with everything intact."""

from __future__ import annotations

import json
import math
import shutil
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command
from django.test import Client

from experiments.core.errors import NotAllowedError
from experiments.models import Attempt, LaunchKey, Metric, Note, Round, Run, Study, User
from experiments.notes.services import note_create
from experiments.results.services.curves import values_write
from experiments.studies.services.launch import study_plan
from experiments.study_archives.archive_file import ArchiveError
from experiments.study_archives.selectors import study_archive_parts
from experiments.study_archives.services import study_unarchive
from tests.experiments import lab
from workers.home import artifact_folder, home, log_file, run_folder

TOKEN = UUID(int=7)
MODEL = bytes(range(256)) * 5


@pytest.fixture
def rich_study(study: Study) -> Study:
    """With a model, a log, clients' numbers, a NaN and notes on its first run."""
    run = lab.runs_in_order(study)[0]
    folder = artifact_folder(run.pk, TOKEN)
    folder.mkdir(parents=True)
    (folder / "parameters.safetensors").write_bytes(MODEL)
    log_file(run.pk).write_text("round 1\n")
    run.artifact = str((folder / "parameters.safetensors").relative_to(home()))
    run.provenance = {**run.provenance, "commit": "abc123"}
    run.device_type, run.engine = "cuda", "cohort"
    run.save()
    Round.objects.filter(run=run, round=2).update(clients={"0": {"accuracy": 0.25}, "1": {"accuracy": 0.1 + 0.2}})
    values_write([(run.pk, 2, "own.nan", math.nan)])
    note_create(author=study.owner, text="Look at *this*.", study=study)
    note_create(author=study.owner, text="Odd.", run=run)
    return study


def archive_file(study: Study, folder: Path) -> Path:
    path = folder / "study.tributary.zip"
    path.write_bytes(b"".join(study_archive_parts(study)))
    return path


def forget(study: Study) -> None:
    """As if this were another lab."""
    runs = list(study.runs.values_list("pk", flat=True))
    Study.every.all().delete()
    Run.objects.all().delete()
    for run in runs:
        shutil.rmtree(run_folder(run), ignore_errors=True)


def test_another_lab_has_everything_intact(rich_study: Study, admin: User, tmp_path: Path) -> None:
    before = {run.hash: run for run in lab.runs_in_order(rich_study)}
    path = archive_file(rich_study, tmp_path)
    forget(rich_study)
    report = study_unarchive(owner=admin, path=path)
    study = report.study
    assert (report.new, report.reused, report.known) == (4, 0, False)
    assert (study.name, study.blocks, study.owner) == ("Two strategies", rich_study.blocks, admin)
    runs = lab.runs_in_order(study)
    assert [run.state for run in runs] == ["done", "done", "done", "failed"]
    first = runs[0]
    assert first.pk not in {run.pk for run in before.values()}
    original = before[first.hash]
    for name in ("cell", "spec", "seed", "engine", "device_type", "rounds_done", "rounds_total", "started", "finished"):
        assert getattr(first, name) == getattr(original, name), name
    assert first.provenance["commit"] == "abc123"
    assert first.provenance["imported"].startswith("from an archive")
    assert (home() / first.artifact).read_bytes() == MODEL
    assert log_file(first.pk).read_text() == "round 1\n"
    curve = Metric.objects.filter(run=first, name="accuracy").order_by("round").values_list("value", flat=True)
    assert list(curve) == [0.1, 0.5, 0.8]
    assert math.isnan(Metric.objects.get(run=first, name="own.nan").value)
    last = Round.objects.get(run=first, round=2)
    assert (last.cohort, last.clients) == ([0, 1], {"0": {"accuracy": 0.25}, "1": {"accuracy": 0.30000000000000004}})
    assert [note.text for note in Note.objects.filter(study=study)] == ["Look at *this*."]
    assert [note.author.username for note in Note.objects.filter(run=first)] == ["owner"]
    assert runs[3].reason == "Out of memory.\nTraceback"


def test_what_came_back_makes_the_same_archive(rich_study: Study, admin: User, tmp_path: Path) -> None:
    path = archive_file(rich_study, tmp_path)
    with zipfile.ZipFile(path) as archive:
        sums = json.loads(archive.read("manifest.json"))["files"]
    forget(rich_study)
    again = archive_file(study_unarchive(owner=admin, path=path).study, tmp_path)
    with zipfile.ZipFile(again) as archive:
        others = json.loads(archive.read("manifest.json"))["files"]
    same = [name for name in sums if name.endswith(("rounds.jsonl", "model.safetensors", "log.txt"))]
    assert len(same) == 6
    assert {name: sums[name] for name in same} == {name: others[name] for name in same}


def test_done_runs_of_an_admins_import_are_reused_by_a_launch(rich_study: Study, admin: User, tmp_path: Path) -> None:
    blocks, path = rich_study.blocks, archive_file(rich_study, tmp_path)
    forget(rich_study)
    study_unarchive(owner=admin, path=path)
    plan = study_plan(owner=admin, blocks=blocks, requires="gpu")
    assert (plan.runs, plan.reused) == (6, 3)


def test_what_a_member_imports_is_reused_by_nobodys_launch(rich_study: Study, stranger: User, tmp_path: Path) -> None:
    blocks, path = rich_study.blocks, archive_file(rich_study, tmp_path)
    forget(rich_study)
    study_unarchive(owner=stranger, path=path)
    assert study_plan(owner=stranger, blocks=blocks, requires="gpu").reused == 0


def test_runs_that_the_lab_has_are_held_and_not_doubled(rich_study: Study, admin: User, tmp_path: Path) -> None:
    path = archive_file(rich_study, tmp_path)
    runs = Run.objects.count()
    report = study_unarchive(owner=admin, path=path)
    assert (report.new, report.reused) == (1, 3)  # a failed run is nobody's to share
    assert Run.objects.count() == runs + 1
    done = {run.pk for run in lab.runs_in_order(rich_study)[:3]}
    assert {run.pk for run in lab.runs_in_order(report.study)[:3]} == done


def test_a_done_run_with_other_curves_stays_beside_the_labs_own(rich_study: Study, admin: User, tmp_path: Path) -> None:
    path = archive_file(rich_study, tmp_path)
    own = lab.runs_in_order(rich_study)[1]
    values_write([(own.pk, 2, "accuracy", 0.25)])
    other = lab.runs_in_order(study_unarchive(owner=admin, path=path).study)[1]
    assert (other.pk != own.pk, other.hash == own.hash, other.shared) == (True, True, False)
    assert Metric.objects.get(run=other, name="accuracy", round=2).value == 0.9


def test_the_same_archive_is_imported_once(rich_study: Study, admin: User, tmp_path: Path) -> None:
    path = archive_file(rich_study, tmp_path)
    first = study_unarchive(owner=admin, path=path)
    second = study_unarchive(owner=admin, path=path)
    assert (second.study, second.known, second.new) == (first.study, True, 0)


def damaged(path: Path, name: str, content: bytes) -> Path:
    """The archive with another content under that name, and the manifest as it was."""
    target = path.with_name("damaged.tributary.zip")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as copy:
        for each in source.namelist():
            copy.writestr(each, content if each == name else source.read(each))
    return target


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("runs/0000/model.safetensors", b"other", "model.safetensors is not as it was archived"),
        ("runs/0001/rounds.jsonl", b"{}\n", "rounds.jsonl is not as it was archived"),
        ("manifest.json", b"{", "manifest cannot be read"),
        ("manifest.json", b'{"product": "other", "format": 1, "files": {}}', "another program's"),
        ("manifest.json", b'{"product": "tributary-study", "format": 9, "files": {}}', "format 9"),
        ("manifest.json", b'{"product": "tributary-study", "format": 1, "files": {}}', "does not hold what"),
    ],
)
def test_a_damaged_archive_is_refused_and_nothing_is_written(
    rich_study: Study, admin: User, tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    path = damaged(archive_file(rich_study, tmp_path), name, content)
    forget(rich_study)
    with pytest.raises(ArchiveError, match=reason):
        study_unarchive(owner=admin, path=path)
    assert (Study.every.count(), Run.objects.count(), LaunchKey.objects.count()) == (0, 0, 0)


def test_a_file_that_was_cut_off_is_refused(rich_study: Study, admin: User, tmp_path: Path) -> None:
    path = archive_file(rich_study, tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ArchiveError, match="no archive of a study, or is damaged"):
        study_unarchive(owner=admin, path=path)


def archive_of(path: Path, files: dict[str, bytes]) -> Path:
    from experiments.study_archives.archive_file import archive_parts

    path.write_bytes(b"".join(archive_parts([(name, [content]) for name, content in files.items()])))
    return path


def test_a_name_that_leads_out_of_the_archive_is_refused(admin: User, tmp_path: Path) -> None:
    files = {"study.json": b"{}", "runs/0000/files/../../../../evil": b"x"}
    with pytest.raises(ArchiveError, match="has no place in a study"):
        study_unarchive(owner=admin, path=archive_of(tmp_path / "a.zip", files))


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(admin: User, tmp_path: Path) -> None:
    files = {"study.json": b"{}", "runs/0000/log.txt": bytes(100_000_000)}
    with pytest.raises(ArchiveError, match="would unpack to 100 MB"):
        study_unarchive(owner=admin, path=archive_of(tmp_path / "a.zip", files))


def test_content_that_does_not_fit_leaves_nothing_behind(rich_study: Study, admin: User, tmp_path: Path) -> None:
    """Checksums are right; the second run has no seed."""
    with zipfile.ZipFile(archive_file(rich_study, tmp_path)) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name != "manifest.json"}
    run = json.loads(files["runs/0001/run.json"])
    del run["seed"]
    forget(rich_study)
    folders = set((home() / "runs").iterdir())
    with pytest.raises(ArchiveError, match="cannot be used"):
        study_unarchive(
            owner=admin, path=archive_of(tmp_path / "b.zip", {**files, "runs/0001/run.json": json.dumps(run).encode()})
        )
    assert (Study.every.count(), Run.objects.count(), Attempt.objects.count()) == (0, 0, 0)
    assert set((home() / "runs").iterdir()) == folders


Change = dict[str, Any]
NESTED: Any = 0
for _ in range(30):
    NESTED = [NESTED]


def with_spec(**fields: Any) -> Callable[[Change], None]:
    return lambda files: files["run"]["spec"].update(fields)


def with_run(**fields: Any) -> Callable[[Change], None]:
    return lambda files: files["run"].update(fields)


def with_study(**fields: Any) -> Callable[[Change], None]:
    return lambda files: files["study"].update(fields)


def with_round(**fields: Any) -> Callable[[Change], None]:
    line = {"round": 900, "metrics": {}, "cohort": [], "clients": {}, "committed": None}
    return lambda files: files["rounds"].append({**line, **fields})


FORGED: dict[str, Callable[[Change], None]] = {
    "no spec": with_run(spec={}),
    "a strategy without a name": with_spec(strategy=5),
    "a strategy with a list for a name": with_spec(strategy={"name": ["fedavg"]}),
    "rounds in words": with_spec(rounds="many"),
    "a rate in words": with_spec(strategy={"name": "fedprox", "mu": "small"}),
    "no evaluation": lambda files: files["run"]["spec"].pop("evaluation"),
    "a data set beside an app": with_spec(app={"name": "mine", "config": {}}),
    "an app without a config": with_run(spec={"app": {"name": "mine"}, "seed": 0}),
    "an app that is a number": with_run(spec={"app": 5, "seed": 0}),
    "findings that are a list": with_run(findings=[1]),
    "a confusion matrix of words": with_run(findings={"confusion": "none"}),
    "packages that are a number": with_run(provenance={"packages": 5}),
    "provenance without an end": with_run(provenance={"a": NESTED}),
    "a seed beyond all seeds": with_run(seed=2**40),
    "fewer than no rounds": with_run(rounds_done=-1),
    "a moment that is none": with_run(finished="yesterday"),
    "blocks that are a mapping": with_study(blocks={"a": 1}),
    "blocks that are numbers": with_study(blocks=[1, 2]),
    "seeds in words": with_study(blocks=[{"seeds": "all"}]),
    "tags that are a word": with_study(tags="abc"),
    "no name": with_study(name=""),
    "a cohort that is a mapping": with_round(cohort={"a": 1}),
    "a client with a name": with_round(clients={"ann": {"accuracy": 0.5}}),
    "a client's number that is a list": with_round(clients={"1": {"accuracy": [0.5]}}),
    "a metric without a name": with_round(metrics={"": 0.5}),
    "a metric in words": with_round(metrics={"accuracy": "high"}),
    "a folder where a file is": lambda files: files["extra"].update({"files/a": b"x", "files/a/b": b"x"}),
    "a name that no disk takes": lambda files: files["extra"].update({f"files/{'n' * 300}": b"x"}),
}


@pytest.fixture
def forge(rich_study: Study, tmp_path: Path) -> Callable[[Callable[[Change], None]], Path]:
    """An archive whose checksums are right, with something else in its first run."""
    with zipfile.ZipFile(archive_file(rich_study, tmp_path)) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name != "manifest.json"}
    forget(rich_study)

    def forged(change: Callable[[Change], None]) -> Path:
        lines = [json.loads(line) for line in files["runs/0000/rounds.jsonl"].splitlines()]
        parts: Change = {"study": json.loads(files["study.json"]), "run": json.loads(files["runs/0000/run.json"])}
        parts |= {"rounds": lines, "extra": {}}
        change(parts)
        made = {
            "study.json": json.dumps(parts["study"]).encode(),
            "runs/0000/run.json": json.dumps(parts["run"]).encode(),
            "runs/0000/rounds.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in parts["rounds"]),
            **{f"runs/0000/{name}": content for name, content in parts["extra"].items()},
        }
        return archive_of(tmp_path / "forged.zip", {**files, **made})

    return forged


def test_what_no_page_could_read_is_refused_and_leaves_nothing(
    forge: Callable[[Callable[[Change], None]], Path], admin: User
) -> None:
    folders = set((home() / "runs").iterdir())
    for what, change in FORGED.items():
        with pytest.raises(ArchiveError, match="nothing was imported"):
            study_unarchive(owner=admin, path=forge(change))
        assert Study.every.count() == 0, what
    assert (Run.objects.count(), Metric.objects.count()) == (0, 0)
    assert set((home() / "runs").iterdir()) == folders


def test_components_and_fields_of_another_version_come_in(
    forge: Callable[[Callable[[Change], None]], Path], admin: User, browsers: dict[str, Client]
) -> None:
    """A plugin's strategy, a parameter and a field that this lab does not know, and a bound that was another one."""

    def change(files: Change) -> None:
        with_spec(strategy={"name": "ours", "deep": {"a": [1, 2]}}, later={"x": 1}, rounds=10**9)(files)
        files["run"]["spec"]["model"]["later"] = "x"

    study = study_unarchive(owner=admin, path=forge(change)).study
    run = lab.runs_in_order(study)[0]
    pages = [f"/studies/{study.pk}", f"/runs/{run.pk}", f"/compare?study={study.pk}", f"/studies/{study.pk}/displays"]
    pages += ["/studies", f"/compare/charts/curves?study={study.pk}", f"/api/v1/studies/{study.pk}", "/"]
    assert [browsers["admin"].get(page).status_code for page in pages] == [200] * len(pages)


@pytest.mark.django_db(transaction=True)
def test_rest_streams_what_the_command_writes(
    rich_study: Study, program: Callable[..., Client], tmp_path: Path, redis_url: str
) -> None:
    answer = program(rich_study.owner, "read").get(f"/api/v1/studies/{rich_study.pk}/archive")
    assert answer["Content-Disposition"] == f'attachment; filename="study-{rich_study.pk}.tributary.zip"'

    async def whole() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    stored_study = Study.objects.get(pk=rich_study.pk)
    assert async_to_sync(whole)() == archive_file(stored_study, tmp_path).read_bytes()


def test_a_viewer_imports_nothing(rich_study: Study, viewer: User, tmp_path: Path) -> None:
    with pytest.raises(NotAllowedError):
        study_unarchive(owner=viewer, path=archive_file(rich_study, tmp_path))


def test_the_commands_write_and_read_it(rich_study: Study, admin: User, tmp_path: Path) -> None:
    path, output = tmp_path / "study.tributary.zip", StringIO()
    call_command("archive", str(rich_study.pk), str(path), stdout=output)
    forget(rich_study)
    call_command("unarchive", str(path), stdout=output)
    assert "4 runs imported, 0 were here." in output.getvalue()
    path.write_bytes(b"nothing")
    with pytest.raises(CommandError, match="is no archive of a study"):
        call_command("unarchive", str(path))
