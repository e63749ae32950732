"""A lab's own tables by page, REST and command line: a preview, an import, and what is refused."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from experiments.datasets.services.jobs import job_request
from experiments.housekeeping.services import attempts
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import AuditEntry, Job, JobKind, User
from workers.catalog import load_catalog
from workers.data_import.options import ImportOptions
from workers.datasets import _cache
from workers.errors import DatasetError, SpecError

MEMORY = 500_000_000
PAGE, ROUTE = "/data-sets/own/import", "/api/v1/datasets/own/import"


@pytest.fixture(autouse=True)
def people_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    path = tmp_path / "home" / "imports" / "people.csv"
    path.parent.mkdir(parents=True)
    path.write_text("age,job,ward,income\n1,cook,n,low\n3,smith,n,high\n1,cook,s,low\n3,smith,s,high\n")
    return path


def post(client: Client, body: dict[str, Any], query: str = "") -> Any:
    return client.post(ROUTE + query, body, content_type="application/json")


def section(client: Client) -> str:
    page = client.get("/data-sets").content.decode()
    return page.split('id="dataset-own"')[1].split('</details>\n<details class="dataset"')[0]


def test_the_page_previews_first_and_keeps_what_was_typed(browsers: dict[str, Client], people_csv: Path) -> None:
    form = {"path": str(people_csv), "target": "income", "client": "ward", "leave_out": "job", "standardise": "true"}
    answer = browsers["owner"].post(PAGE, {**form, "dry_run": "1"}, follow=True).content.decode()
    assert "own: Importing starts within seconds." in answer
    assert jobs_carry_out() == 1
    shown = section(browsers["owner"])
    assert "<strong>people</strong>: table (csv), 4 rows; 4 to train, 0 to test; 2 clients." in shown
    assert "A sample has the shape 1, 48 bytes in all." in shown.replace("\xa0", " ")
    assert '<td class="mono">ward</td><td>text</td><td>client</td>' in shown
    assert '<span class="mono">high</span> 2 · <span class="mono">low</span> 2' in shown
    assert 'name="target" value="income"' in shown
    assert f'name="path" value="{people_csv}"' in shown
    assert load_catalog().datasets["own"].editions() == []
    assert not AuditEntry.objects.filter(action="dataset.import").exists()


def test_the_page_imports_with_every_option_of_its_form(browsers: dict[str, Client], people_csv: Path) -> None:
    form = {"path": str(people_csv), "name": "ours", "target": "income", "leave_out": "job, ward", "test_share": "0.5"}
    browsers["owner"].post(PAGE, {**form, "seed": "3"})
    assert jobs_carry_out() == 1
    job = Job.objects.get()
    assert (job.state, job.text) == ("done", "2 training and 2 test samples as ours")
    manifest = _cache.manifest_of("own-ours")
    assert manifest is not None
    assert manifest.preparation["options"] == {
        "name": "ours",
        "target": "income",
        "leave_out": ["job", "ward"],
        "test_share": 0.5,
        "seed": 3,
        "standardise": False,
    }
    assert manifest.preparation["features"] == [{"column": "age"}]
    assert "own ours" in section(browsers["viewer"])
    assert "Training samples by class" in section(browsers["viewer"])
    assert AuditEntry.objects.filter(action="dataset.import").count() == 1


def test_the_page_says_what_is_wrong_with_a_field(browsers: dict[str, Client], people_csv: Path) -> None:
    answer = browsers["owner"].post(PAGE, {"path": str(people_csv), "test_share": "2", "target": "income"})
    assert answer.status_code == 422
    assert "test_share: Input should be less than 1." in answer.content.decode()
    assert 'name="target" value="income"' in answer.content.decode()
    assert not Job.objects.exists()


def test_a_failed_import_says_why_and_stores_nothing(browsers: dict[str, Client], people_csv: Path) -> None:
    browsers["owner"].post(PAGE, {"path": str(people_csv), "target": "wage"})
    assert jobs_carry_out() == 1
    assert "target: there is no column &#x27;wage&#x27;." in section(browsers["owner"])
    assert _cache.manifest_of("own-people") is None


def test_rest_previews_and_imports(browsers: dict[str, Client], people_csv: Path) -> None:
    asked = {"path": str(people_csv), "target": "income", "client": "ward"}
    answer = post(browsers["owner"], asked, "?dry_run=true")
    assert (answer.status_code, answer.headers["Retry-After"]) == (202, "1")
    job = f"/api/v1/datasets/jobs/{answer.json()['id']}"
    assert browsers["viewer"].get(job).json()["state"] == "queued"
    assert jobs_carry_out() == 1
    preview = browsers["viewer"].get(job).json()["preview"]
    assert (preview["name"], preview["rows"], preview["clients"], preview["shape"]) == ("people", 4, 2, [3])
    assert preview["class_counts"] == [{"name": "high", "rows": 2}, {"name": "low", "rows": 2}]
    assert preview["problems"] == []
    assert [(each["name"], each["role"], each["features"]) for each in preview["columns"]] == [
        ("age", "number", 1),
        ("job", "category", 2),
        ("ward", "client", 0),
        ("income", "target", 0),
    ]
    answer = post(browsers["owner"], asked)
    assert jobs_carry_out() == 1
    done = browsers["owner"].get(f"/api/v1/datasets/jobs/{answer.json()['id']}").json()
    assert (done["state"], done["text"], done["dry_run"]) == ("done", "4 training and 0 test samples as people", False)
    own = [each for each in browsers["owner"].get("/api/v1/datasets").json() if each["name"] == "own"]
    assert [(each["parameters"], each["class_names"]) for each in own] == [
        ({"name": "own", "set": "people"}, ["high", "low"])
    ]


def test_rest_refuses_by_field_by_folder_and_by_right(browsers: dict[str, Client], people_csv: Path) -> None:
    answer = post(browsers["owner"], {"path": str(people_csv), "test_share": 1, "colour": "pink", "wrong": 1})
    assert answer.status_code == 422
    assert {each["path"] for each in answer.json()["errors"]} == {"test_share", "colour", "wrong"}
    outside = post(browsers["owner"], {"path": "/etc/passwd"})
    assert (outside.status_code, outside.json()["errors"][0]["path"]) == (422, "path")
    assert post(browsers["viewer"], {"path": str(people_csv)}, "?dry_run=true").status_code == 403
    assert post(browsers["owner"], {"path": str(people_csv), "replace": True}).status_code == 403
    assert not Job.objects.exists()


def test_what_is_here_is_replaced_only_by_an_admin(browsers: dict[str, Client], people_csv: Path) -> None:
    asked = {"path": str(people_csv), "target": "income", "name": "people"}
    post(browsers["owner"], asked)
    jobs_carry_out()
    answer = post(browsers["owner"], asked)
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "There is a data set people already: give another name, or have an admin replace it.",
    )
    assert post(browsers["admin"], {**asked, "target": "job", "replace": True}).status_code == 202
    jobs_carry_out()
    manifest = _cache.manifest_of("own-people")
    assert manifest is not None
    assert manifest.class_names == ("cook", "smith")


def run_command(*arguments: object) -> str:
    out = StringIO()
    call_command("datasets", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_the_command_line_previews_and_imports(people_csv: Path) -> None:
    asked = ("import", "own", people_csv, "--target", "income", "--leave-out", "job", "--leave-out", "ward")
    assert run_command(*asked, "--test-share", "0.5", "--dry-run").splitlines() == [
        "people: table (csv), 4 rows, 2 to train and 2 to test",
        "  age                      numbers      number    1, 3",
        "  job                      text         left out",
        "  ward                     text         left out",
        "  income                   text         target    high, low",
        "Classes: 2 (high: 2, low: 2)",
        "A sample: 1; 48 bytes in all",
    ]
    assert _cache.manifest_of("own-people") is None
    assert run_command(*asked, "--no-standardise") == "own-people: 4 training and 0 test samples are here.\n"
    arrays = load_catalog().datasets["own"].load(load_catalog().datasets["own"].Params(set="people"))
    assert arrays.train_x.tolist() == [[1], [3], [1], [3]]


def test_the_command_line_says_what_is_wrong(people_csv: Path) -> None:
    with pytest.raises(DatasetError, match="there is no column 'wage'"):
        run_command("import", "own", people_csv, "--target", "wage")
    with pytest.raises(SpecError, match="test_share: Input should be a valid number"):
        run_command("import", "own", people_csv, "--test-share", "half")
    with pytest.raises(CommandError, match="mnist is read as published"):
        run_command("import", "mnist", people_csv, "--target", "y")


def test_a_table_that_unpacks_to_gigabytes_ends_its_own_process(
    admin: User, people_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word of 100 kB, stored once and named 60,000 times: 200 kB on disk, 6 GB in memory."""
    path = people_csv.parent / "words.parquet"
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), ["x" * 100_000])
    pq.write_table(pa.table({"word": words, "y": [0, 1] * 30_000}), path, store_schema=False)
    assert path.stat().st_size < 300_000
    job_request(actor=admin, dataset="own", kind=JobKind.IMPORT, path=str(path), options=ImportOptions(target="y"))
    monkeypatch.setattr(attempts, "allowed_memory", lambda: 2 * MEMORY)
    assert jobs_carry_out() == 1
    job = Job.objects.get()
    assert (job.state, job.text) == ("failed", "It takes more than 0.5 GB of memory, and was ended.")
