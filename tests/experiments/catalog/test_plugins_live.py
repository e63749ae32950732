"""A lab's own components on the running platform: form, validation, REST, workers, pages and doctor."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml
from config.env import ROOT
from django.test import Client
from pytest_django import DjangoDbBlocker

from experiments.models import Metric, Role, Run, User, Worker
from tests.conftest import HOME
from tests.live import LivePlatform, eventually
from tests.workers.catalog.plugins.examples import FRAGILE, write, write_documented

pytestmark = pytest.mark.django_db(transaction=True)
STUDY: dict[str, Any] = {
    "name": "With our own",
    "blocks": [
        {
            "dataset": {"name": "stripes"},
            "model": {"name": "mlp-16"},
            "partition": {"name": "dealt"},
            "strategy": [{"name": "fedclip", "bound": 1e-4}, {"name": "fedavg"}],
            "clients": 4,
            "rounds": 2,
            "engine": "cohort",
        }
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the docs show, and beside it a broken file, one that is too heavy, and one that can be made to fail."""
    made = tmp_path_factory.mktemp("components")
    write_documented(made)
    write(made, "strategies/broken.py", "def")
    write(made, "strategies/heavy.py", "import torch")
    write(made, "datasets/fragile.py", FRAGILE.format(switch=made / "switch"))
    write(made, "_mine.py", (ROOT / "docs" / "flower.md").read_text().split("```python\n")[1].split("```")[0])
    return made


@pytest.fixture(scope="module")
def platform(
    folder: Path, django_db_setup: None, django_db_blocker: DjangoDbBlocker, redis_url: str
) -> Iterator[LivePlatform]:
    with django_db_blocker.unblock(), LivePlatform(HOME, settings={"TRIBUTARY_PLUGINS": str(folder)}).run() as found:
        yield found


@pytest.fixture
def owner() -> User:
    return User.objects.create(username="owner", role=Role.ADMIN)


def page(platform: LivePlatform, owner: User, path: str) -> str:
    client = Client()
    client.force_login(owner)
    request = Request(
        f"{platform.base_url}{path}", headers={"Cookie": f"sessionid={client.cookies['sessionid'].value}"}
    )
    with urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def manage(platform: LivePlatform, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=platform.environment, capture_output=True, text=True, check=False)


def test_a_dropped_file_is_launched_computed_and_shown(platform: LivePlatform, owner: User, tmp_path: Path) -> None:
    study = write(tmp_path, "study.yaml", yaml.safe_dump(STUDY))

    launched = manage(platform, "launch", str(study), "--wait")

    assert launched.returncode == 0, launched.stdout + launched.stderr
    clip, plain = Run.objects.order_by("spec__strategy__name").reverse()
    assert (clip.spec["strategy"], clip.state) == ({"name": "fedclip", "bound": 1e-4}, "done")
    assert (plain.spec["strategy"]["name"], plain.state) == ("fedavg", "done")
    clipped = Metric.objects.filter(run=clip, name="fedclip.clipped").order_by("round").values_list("value", flat=True)
    assert list(clipped) == [4.0, 4.0]
    assert "bound = 0.0001" in page(platform, owner, f"/studies/{clip.studies.get().pk}")


def test_a_strategy_written_for_flower_is_computed_and_computed_anew_once_its_file_changed(
    platform: LivePlatform, owner: User, folder: Path, tmp_path: Path
) -> None:
    """The worker that computed it before still holds the old code. The new one never moves."""
    strategy = {"name": "flower", "class": "_mine.Cautious", "arguments": {"part": 0.5}}
    blocks = [{**STUDY["blocks"][0], "strategy": strategy}]
    study = write(tmp_path, "study.yaml", yaml.safe_dump({"name": "Theirs", "blocks": blocks}))

    first = manage(platform, "launch", str(study), "--wait")
    text = (folder / "_mine.py").read_text()
    write(folder, "_mine.py", text.replace("self.part *", "0.0 * self.part *"))
    second = manage(platform, "launch", str(study), "--wait")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    runs = [run for run in Run.objects.order_by("pk") if run.spec["strategy"]["name"] == "flower"]
    losses = [
        list(Metric.objects.filter(run=run, name="loss").order_by("round").values_list("value", flat=True))
        for run in runs
    ]
    assert len(runs) == 2
    assert len(set(losses[0])) == 3
    assert len(set(losses[1])) == 1


def test_it_is_in_the_catalog_and_in_the_form(platform: LivePlatform, owner: User, folder: Path) -> None:
    catalog = json.loads(page(platform, owner, "/api/v1/catalog"))

    (found,) = [each for each in catalog["strategy"] if each["name"] == "fedclip"]
    assert found["plugin"] == str(folder / "strategies" / "fedclip.py")
    assert found["schema"]["properties"]["bound"]["exclusiveMinimum"] == 0
    assert [each["name"] for each in catalog["strategy"] if each["plugin"]] == [
        "control-variates",
        "fed-dyn",
        "fed-per",
        "fedclip",
    ]
    form = page(platform, owner, "/studies/new")
    for name in ("fedclip", "dealt", "mlp-16", "stripes"):
        assert f'"{name}"' in form


def test_what_is_broken_is_told_once_for_web_server_and_worker(
    platform: LivePlatform, owner: User, folder: Path
) -> None:
    platform.wait_for("worker-1", Worker.objects.exists)
    shown = page(platform, owner, "/workers")

    worker = Worker.objects.get()
    heavy = "heavy.py: It imports torch at module level, line 1 of heavy.py, which the web server must not load"
    for problem in (f"{folder}/strategies/{heavy}", f"{folder}/strategies/broken.py: It is no valid Python"):
        assert shown.count(problem) == 1
    assert shown.count(f"(web server, {worker.name})") == 2
    assert sorted(worker.facts["plugins"]) == [
        "dataset fragile",
        "dataset stripes",
        "model mlp-16",
        "partition dealt",
        "strategy control-variates",
        "strategy fed-dyn",
        "strategy fed-per",
        "strategy fedclip",
    ]


def test_the_doctor_fails_until_the_files_are_mended(platform: LivePlatform, folder: Path) -> None:
    sick = manage(platform, "doctor")

    assert sick.returncode == 1
    assert f"error    {folder}/strategies/broken.py: It is no valid Python: invalid syntax, line 1 of" in sick.stdout
    assert "8 of them the lab's own." in sick.stdout
    errors = [line for line in sick.stdout.splitlines() if line.startswith("  error")]
    assert len(errors) == 2


def test_data_that_fail_later_break_no_page(platform: LivePlatform, owner: User, folder: Path) -> None:
    places = [
        "/",
        "/data-sets",
        "/studies/new",
        "/catalog",
        "/presets",
        "/workers",
        "/api/v1/datasets",
        "/api/v1/catalog",
    ]
    sound = {place: page(platform, owner, place) for place in places}
    assert "failed. ValueError" not in "".join(sound.values())
    (folder / "switch").write_text("facts available checksum editions loads_at_once load")
    try:
        shown = {place: page(platform, owner, place) for place in places}
        sick = manage(platform, "doctor")
    finally:
        (folder / "switch").unlink()
    reason = f"{folder}/datasets/fragile.py: available() failed. ValueError: the disk has gone, line 10 of fragile.py."
    assert f"Mend it first. {reason}" in shown["/data-sets"]
    assert reason in shown["/workers"]
    assert "ValueError: the disk has gone, line 10 of fragile.py" in sick.stdout
    page(platform, owner, "/data-sets")
    assert "failed. ValueError" not in page(platform, owner, "/workers")


@pytest.fixture
def helper(folder: Path) -> Iterator[Path]:
    """The private file that computes FedClip, as it was again after the test."""
    file = folder / "strategies" / "_fedclip.py"
    text = file.read_text()
    yield file
    file.write_text(text)


def edit_factor(helper: Path, factor: int) -> None:
    """From now on it counts every client that many times."""
    text = helper.read_text()
    line = next(each for each in text.splitlines() if "fedclip.clipped" in each)
    helper.write_text(text.replace(line, f'        self.reported["fedclip.clipped"] = {factor}.0 * clipped'))


def clip_study(tmp_path: Path, seed: int) -> str:
    block = {**STUDY["blocks"][0], "strategy": {"name": "fedclip", "bound": 1e-4}, "seed": seed}
    return str(write(tmp_path, f"{seed}.yaml", yaml.safe_dump({"name": f"Clipped {seed}", "blocks": [block]})))


def clipped_counts(run: Run) -> list[float]:
    return list(
        Metric.objects.filter(run=run, name="fedclip.clipped").order_by("round").values_list("value", flat=True)
    )


def run_of_seed(seed: int) -> Run:
    return Run.objects.get(seed=seed, spec__strategy__name="fedclip")


def test_a_file_edited_under_a_warm_worker_is_computed_as_it_is_now(
    platform: LivePlatform, owner: User, helper: Path, tmp_path: Path
) -> None:
    manage(platform, "launch", clip_study(tmp_path, 20), "--wait")
    assert clipped_counts(run_of_seed(20)) == [4.0, 4.0]

    edit_factor(helper, 3)
    launched = manage(platform, "launch", clip_study(tmp_path, 21), "--wait")

    assert launched.returncode == 0, launched.stdout + launched.stderr
    assert clipped_counts(run_of_seed(21)) == [12.0, 12.0]


def test_a_file_edited_between_launch_and_claim_is_not_computed_under_the_old_identity(
    platform: LivePlatform, owner: User, helper: Path, tmp_path: Path
) -> None:
    manage(platform, "launch", clip_study(tmp_path, 30), "--wait")
    Worker.objects.update(draining=True)
    manage(platform, "launch", clip_study(tmp_path, 31))
    before = run_of_seed(31).provenance["launched_with"]["versions"]["strategy"]

    edit_factor(helper, 5)
    Worker.objects.update(draining=False)

    eventually(lambda: run_of_seed(31).state not in ("queued", "running"))
    run = run_of_seed(31)
    assert (run.state, clipped_counts(run)) == ("failed", [])
    assert run.reason.startswith("The code of the strategy fedclip is not the one this run was launched with: it is 1+")
    assert run.reason.endswith(f", not {before}. Relaunch to compute it with what is here now.")


def test_a_web_server_takes_new_code_at_once_and_asks_for_a_restart_for_new_parameters(
    platform: LivePlatform, owner: User, helper: Path, folder: Path, tmp_path: Path
) -> None:
    token = manage(platform, "token", "owner", "--scope", "write").stdout.split()[-1]

    def post(seed: int, strategy: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        block = {**STUDY["blocks"][0], "strategy": strategy, "seed": seed}
        request = Request(
            f"{platform.base_url}/api/v1/studies",
            data=json.dumps({"name": "From the web", "blocks": [block]}).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            return error.code, json.load(error)

    edit_factor(helper, 7)
    assert post(40, {"name": "fedclip", "bound": 1e-4})[0] == 201
    eventually(lambda: run_of_seed(40).state not in ("queued", "running"))
    assert clipped_counts(run_of_seed(40)) == [28.0, 28.0]

    file = folder / "strategies" / "fedclip.py"
    file.write_text(file.read_text().replace("Field(1.0, gt=0)", "Field(1.0, gt=0, le=9)"))
    status, answer = post(41, {"name": "fedclip"})
    assert (status, answer["errors"]) == (
        422,
        [
            {
                "path": "blocks.0.strategy",
                "message": f"Restart Tributary: {file}, or a file that it needs, changed after it was read.",
            }
        ],
    )
    assert post(41, {"name": "fedavg"})[0] == 201
    problem = f"{file}: It, or a file that it needs, changed after it was read: restart Tributary."
    assert problem in page(platform, owner, "/workers")
