"""A table of results, mapped and looked at in the browser, imported once and taken back."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet
from playwright.sync_api import Page, expect

from experiments.models import Metric, Study, User

WIDE = (
    "name,epoch,test_acc,loss,mu,note\r\n"
    'a,1,0.5,1.0,0.1,"first, with a comma"\r\n'
    'a,2,0.75,nan,0.1,"first, with a comma"\r\n'
    "b,1,0.25,,1.0,second\r\n"
)


def choose(page: Page, text: str) -> None:
    file = {"name": "old results.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.get_by_label("File", exact=True).set_input_files(file)


def again(page: Page, text: str) -> None:
    choose(page, text)
    page.get_by_label("What note is").select_option("left out")
    page.get_by_label("Metric in loss").fill("test loss")


def test_a_table_is_mapped_looked_at_imported_and_taken_back(page: Page, member: User) -> None:
    page.goto("/studies")
    page.get_by_role("link", name="Import results").click()
    choose(page, WIDE)
    expect(page.get_by_label("Study", exact=True)).to_have_value("old results")
    roles = [page.get_by_label(f"What {name} is").input_value() for name in ("name", "epoch", "test_acc", "mu", "note")]
    assert roles == ["run", "round", "metric", "config", "config"]
    expect(page.get_by_text("2 runs would come in; 5 values in all.")).to_be_visible()
    page.get_by_label("What note is").select_option("left out")
    expect(page.get_by_label("Metric in test_acc")).to_have_value("accuracy")
    page.get_by_label("Metric in loss").fill("test loss")
    row = page.get_by_role("row", name="a 2 accuracy, test loss")
    expect(row).to_contain_text("mu = 0.1")
    expect(row).not_to_contain_text("note")
    assert not Study.objects.exists()

    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("2 runs came in.")).to_be_visible()
    study = Study.objects.get()
    assert (study.name, study.owner, study.runs.count()) == ("old results", member, 2)
    a, b = study.runs.order_by("pk")
    assert [run.spec["app"]["config"] for run in (a, b)] == [{"mu": 0.1}, {"mu": 1}]
    values = {(each.round, each.name): str(each.value) for each in Metric.objects.filter(run=a)}
    assert values == {(1, "accuracy"): "0.5", (1, "test loss"): "1.0", (2, "accuracy"): "0.75", (2, "test loss"): "nan"}

    # The same file again: nothing is left to do. Another content is refused before anything is sent.
    again(page, WIDE)
    expect(page.get_by_text("0 runs would come in, 2 are there already")).to_be_visible()
    expect(page.get_by_role("button", name="Import")).to_be_disabled()
    again(page, WIDE.replace("0.75", "0.8"))
    expect(page.get_by_text("1 of the runs are in the lab with other content")).to_be_visible()

    page.get_by_role("button", name="Undo old results").click()
    page.get_by_role("button", name="Take it back").click()
    expect(page.get_by_text("old results is taken back: 2 runs are being deleted.")).to_be_visible()
    assert not Study.objects.filter(name="old results").exists()


def test_what_is_wrong_with_a_table_is_said_with_its_line(page: Page, member: User) -> None:
    page.goto("/imports")
    choose(page, WIDE.replace("a,2,", "a,x,"))
    expect(page.get_by_role("alert").filter(has_text="Line 3: “x” is no round.")).to_be_visible()
    expect(page.get_by_role("button", name="Import")).to_be_disabled()
    page.get_by_label("What epoch is").select_option("left out")
    expect(page.get_by_text("Say which one column is the round.")).to_be_visible()
    assert not Study.objects.filter(name="old results").exists()


def test_a_parquet_file_is_read_by_the_lab_and_comes_in_like_a_table(page: Page, member: User) -> None:
    table = pa.table({"run": ["a", "a"], "round": [1, 2], "acc": pa.array([0.1, 0.5], pa.float32()), "big": [True] * 2})
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    page.goto("/imports")
    file = page.get_by_label("File", exact=True)
    file.set_input_files({"name": "old.parquet", "mimeType": "", "buffer": b"PAR1 not really"})
    expect(page.get_by_role("alert").filter(has_text="It is no Parquet file, or a damaged one")).to_be_visible()
    expect(page.get_by_role("button", name="Import")).to_be_disabled()

    file.set_input_files({"name": "old.parquet", "mimeType": "", "buffer": sink.getvalue()})
    expect(page.get_by_text("1 run would come in; 2 values in all.")).to_be_visible()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("1 run came in.")).to_be_visible()
    run = Study.objects.get(name="old").runs.get()
    assert (run.spec["app"]["config"], run.provenance["logged"]["imported"]) == ({"big": True}, "parquet")
    # 0.1 in 32 bits, as the client reads it too.
    assert [(each.round, each.name, each.value) for each in Metric.objects.filter(run=run)] == [
        (1, "accuracy", 0.10000000149011612),
        (2, "accuracy", 0.5),
    ]
