"""CSV, Parquet and Arrow tables: arrays that were worked out by hand, and every refusal with its place."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.workers.data_import.own_data import import_own, own, preview, refusal, write_text
from workers.data_import import limits, table_arrays, table_scan, tables
from workers.data_import.plan import ClassCount, draw_test_rows
from workers.errors import DatasetError
from workers.streams import stream

PEOPLE = ("age,job,part,income", "1,smith,train,low", "3,cook,train,high", "5,smith,test,low")
"""Ages to train have mean 2 and standard deviation 1."""


def test_numbers_are_standardised_by_the_training_part_and_words_become_columns(tmp_path: Path) -> None:
    arrays, manifest = import_own(write_text(tmp_path / "People 2.csv", *PEOPLE), target="income", split="part")
    assert arrays.train_x.tolist() == [[-1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    assert arrays.test_x.tolist() == [[3.0, 0.0, 1.0]]
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([1, 0], [1])
    assert (arrays.train_x.dtype, arrays.train_y.dtype, arrays.client) == (np.float32, np.int64, None)
    assert manifest.class_names == ("high", "low")
    assert manifest.preparation == {
        "kind": "table (csv)",
        "options": {"name": "people-2", "target": "income", "split": "part"},
        "features": [{"column": "age", "mean": 2.0, "std": 1.0}, {"column": "job", "categories": ["cook", "smith"]}],
    }
    facts = own().facts(own().Params(set="people-2"))
    assert (facts.shape, facts.classes, facts.class_names, facts.train, facts.test) == ((3,), 2, ("high", "low"), 2, 1)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_what_stands_between_columns_is_found_and_spaces_do_not_count(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(PEOPLE).replace(",", f" {delimiter} ").encode())
    arrays, _ = import_own(path, target="income", split="part")
    assert arrays.train_x.tolist() == [[-1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


def test_quoted_values_may_hold_anything(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", '"a, b",y', '"one\ntwo","x,1"', "three,z")
    arrays, manifest = import_own(path, target="y", test_share=0)
    assert arrays.train_x.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert manifest.class_names == ("x,1", "z")
    assert manifest.preparation["features"] == [{"column": "a, b", "categories": ["one\ntwo", "three"]}]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_typed_tables_say_their_types_themselves(tmp_path: Path, ending: str) -> None:
    columns = {
        "n": pa.array([0, 2, 4], pa.int8()),
        "flag": [True, False, True],
        "code": ["1", "2", "1"],
        "kind": pa.array(["b", "a", "b"]).dictionary_encode(),
        "y": [10, 9, 10],
    }
    path, table = tmp_path / f"t.{ending}", pa.table(columns)
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        writer = pa.ipc.new_stream if ending == "arrow" else pa.ipc.new_file
        with writer(path, table.schema) as sink:
            sink.write_table(table)
    arrays, manifest = import_own(path, target="y", test_share=0, standardise=False)
    assert arrays.train_x.tolist() == [[0, 1, 1, 0, 0, 1], [2, 0, 0, 1, 1, 0], [4, 1, 1, 0, 0, 1]]
    assert (manifest.class_names, arrays.train_y.tolist()) == (("9", "10"), [1, 0, 1])
    assert manifest.preparation["features"] == [
        {"column": "n"},
        {"column": "flag"},
        {"column": "code", "categories": ["1", "2"]},
        {"column": "kind", "categories": ["a", "b"]},
    ]


def test_codes_can_be_categories_in_the_order_of_their_size(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "zip,id,y", "10,1,a", "9,2,b", "10,3,b")
    arrays, manifest = import_own(path, target="y", categories=["zip"], leave_out=["id"], test_share=0)
    assert manifest.preparation["features"] == [{"column": "zip", "categories": ["9", "10"]}]
    assert arrays.train_x.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_a_number_that_never_changes_becomes_zero(tmp_path: Path) -> None:
    arrays, _ = import_own(write_text(tmp_path / "t.csv", "a,b,y", "7,1,0", "7,3,1"), target="y", test_share=0)
    assert arrays.train_x.tolist() == [[0, -1], [0, 1]]


def test_missing_values_are_filled_where_that_is_asked_for(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "a,w,y", "1,u,0", "NA,?,1", "3,,0", "8,v,1")
    arrays, manifest = import_own(path, target="y", test_share=0, missing="fill")
    # mean (1 + 3 + 8) / 3 = 4, variance (9 + 1 + 16) / 3 = 26 / 3
    root = (26 / 3) ** 0.5
    assert arrays.train_x.tolist() == [
        [np.float32(-3 / root), 1, 0, 0],
        [0, 0, 0, 1],
        [np.float32(-1 / root), 0, 0, 1],
        [np.float32(4 / root), 0, 1, 0],
    ]
    assert manifest.preparation["features"] == [
        {"column": "a", "mean": 4.0, "std": root, "filled": 4.0},
        {"column": "w", "categories": ["u", "v", "(missing)"]},
    ]


def test_a_client_column_makes_natural_clients_and_a_share_of_each_is_for_testing(tmp_path: Path) -> None:
    rows = [f"{row},{client},{row % 2}" for row, client in enumerate([10] * 5 + [9] * 4 + [2])]
    path = write_text(tmp_path / "t.csv", "a,ward,y", *rows)
    arrays, manifest = import_own(path, target="y", client="ward", test_share=0.4, standardise=False)
    assert arrays.client is not None
    assert arrays.test_client is not None
    # 0.4 of 5, 4 and 1 rows, rounded down
    assert [(arrays.test_client == ward).sum() for ward in (10, 9, 2)] == [2, 1, 0]
    assert arrays.client.tolist() == [10] * 3 + [9] * 3 + [2]
    assert (manifest.natural_clients, manifest.shape) == (3, (1,))
    # ward 2 is client 0, ward 9 client 1, ward 10 client 2; each draws from its own stream
    test = {5 + int(stream(0, "data", client=1).permutation(4)[0]), *stream(0, "data", client=2).permutation(5)[:2]}
    assert set(arrays.test_x[:, 0]) == test


def test_words_name_clients_too_and_test_rows_of_others_are_one_test_set(tmp_path: Path) -> None:
    path = write_text(
        tmp_path / "t.csv", "a,who,part,y", "1,bo,train,0", "2,al,training,1", "3,cy,Test,0", "4,bo,val,1"
    )
    arrays, _ = import_own(path, target="y", client="who", split="part")
    assert arrays.client is not None
    assert arrays.client.tolist() == ["bo", "al", "bo"]
    assert arrays.test_client is None
    assert arrays.test_y.tolist() == [0]


def test_the_drawn_share_follows_from_the_seed() -> None:
    assert draw_test_rows(10, None, 0.29, 3).sum() == 2
    assert (draw_test_rows(50, None, 0.2, 3) == draw_test_rows(50, None, 0.2, 3)).all()
    assert (draw_test_rows(50, None, 0.2, 3) != draw_test_rows(50, None, 0.2, 4)).any()


def test_a_folder_of_files_is_one_table_split_by_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "split"
    folder.mkdir()
    write_text(folder / "test.csv", "a,y", "9,no")
    write_text(folder / "train-2.csv", "a,y", "3,no")
    write_text(folder / "train-1.csv", "a,y", "1,yes")
    arrays, _ = import_own(folder, target="y")
    assert (arrays.train_x.tolist(), arrays.test_x.tolist()) == ([[-1], [1]], [[7]])
    assert arrays.train_y.tolist() == [1, 0]
    write_text(folder / "more.csv", "a,y", "3,no")
    assert "more.csv is neither for training nor for testing by its name" in refusal_text(folder)
    write_text(folder / "more.csv", "a,z", "3,no")
    (folder / "test.csv").unlink()
    assert "train-1.csv and more.csv are not of one table: they differ in column 'z'." in refusal_text(folder)


def refusal_text(path: Path) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the sentence is what is looked at)
        preview(path, target="y")
    return str(caught.value)


def test_batches_change_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = stream(1, "data").normal(1e6, 1e-3, 500)
    rows = [f"{value!r},{'abc'[row % 3]},{row % 7},{row % 2}" for row, value in enumerate(values.tolist())]
    path = write_text(tmp_path / "t.csv", "a,w,c,y", *rows)
    first = import_own(path, target="y", client="c")[1]
    for module in (tables, table_scan, table_arrays):
        monkeypatch.setattr(module, "BATCH_ROWS", 7)
    second = import_own(path, target="y", client="c")[1]
    assert first.checksum == second.checksum
    assert first.preparation == second.preparation


def test_names_of_classes_are_part_of_what_a_set_is(tmp_path: Path) -> None:
    first = import_own(write_text(tmp_path / "t.csv", "a,y", "1,no", "2,yes"), target="y", test_share=0)[1]
    second = import_own(write_text(tmp_path / "t.csv", "a,y", "1,cat", "2,dog"), target="y", test_share=0)[1]
    assert [each.sha256 for each in first.entries.values()] == [each.sha256 for each in second.entries.values()]
    assert first.checksum != second.checksum


def test_a_damaged_cache_is_made_again_with_the_same_options(tmp_path: Path, data_home: Path) -> None:
    arrays, manifest = import_own(write_text(tmp_path / "t.csv", *PEOPLE), target="income", split="part")
    before = arrays.train_x.tolist()
    (data_home / "datasets" / "own-t" / manifest.entries["train_x"].file).write_bytes(b"damage")
    assert own().load(own().Params(set="t")).train_x.tolist() == before


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (PEOPLE, {}, "Say which column is the target, the class that is to be told."),
        (PEOPLE, {"target": "wage"}, "target: there is no column 'wage'. The columns are age, job, part, income."),
        (PEOPLE, {"target": "income", "leave_out": ["x"]}, "leave_out: there is no column 'x'."),
        (PEOPLE, {"target": "job", "client": "job"}, "Column 'job' is named for two purposes: choose one."),
        (PEOPLE, {"target": "income", "split": "job"}, "Column 'job' says 'cook': it should say train,"),
        (["a,y", "1,no", "2,no"], {"target": "y"}, "Column 'y' has only one class, 'no': "),
        (["a,y", "1,0.5", "2,1"], {"target": "y"}, "Column 'y' holds numbers with fractions"),
        (["a,y", "1,0", ",1", ",1"], {"target": "y"}, "t.csv, row 2, column 'a': the value is missing (2 are "),
        (["a,y", "1,0", "2,"], {"target": "y"}, "t.csv, row 2, column 'y': the target is missing."),
        (["a,y,c", "1,0,x", "2,1,?"], {"target": "y", "client": "c"}, "row 2, column 'c': the client is missing."),
        (["a,y", "1,0", "-inf,1"], {"target": "y"}, "t.csv, row 2, column 'a': the value is infinite."),
        (["a,b,y", "1,,0", "2,,1"], {"target": "y"}, "Column 'b' is empty: leave it out."),
        (["y", "0", "1"], {"target": "y"}, "No column is left that could be a feature."),
        (["a,y"], {"target": "y"}, "It has no rows."),
        (["a,a", "1,0"], {"target": "a"}, "t.csv has several columns 'a'"),
        (["a,,y", "1,2,0"], {"target": "y"}, "column 2 has no name in the first line"),
        (["a,y", "1,0", "1,2,3"], {"target": "y"}, "Expected 2 columns, got 3"),
        (["a,y", '"1,0', "2,1"], {"target": "y"}, "t.csv cannot be read as csv"),
        (["", "1"], {"target": "y"}, "it has no first line with the names of its columns"),
        (["a,y", "1e308,0", "-1e308,1"], {"target": "y"}, "Column 'a' holds numbers that are too large"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_says_why_and_leaves_nothing(
    tmp_path: Path, lines: list[str], options: dict[str, Any], message: str
) -> None:
    assert message in refusal(write_text(tmp_path / "t.csv", *lines), test_share=0, **options)


def test_types_that_are_no_features_are_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"day": [date(2026, 1, 1)] * 2, "a": [1, 2], "y": [0, 1]}), tmp_path / "t.parquet")
    message = "Column 'day' holds date32[day], which is neither numbers nor words: leave it out."
    assert refusal(tmp_path / "t.parquet", target="y") == message
    assert import_own(tmp_path / "t.parquet", target="y", client="day", test_share=0)[1].natural_clients == 1


def test_words_that_are_hardly_categories_and_too_many_rows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_text(tmp_path / "t.csv", "name,a,y", *(f"n{row},1,{row % 2}" for row in range(1001)))
    assert refusal(path, target="y") == "Column 'name' has more than 1,000 different words: leave it out."
    monkeypatch.setattr(tables, "MOST_ROWS", 1000)
    assert refusal(path, target="y", leave_out=["name"]) == "It has more than 1,000 rows: split it up."


def test_what_would_be_too_large_is_refused_before_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_BYTES", 20)
    path = write_text(tmp_path / "t.csv", "a,y", "1,0", "2,1")
    assert "leave columns out, make pictures smaller, or split it up" in refusal(path, target="y")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_files_that_are_not_what_their_name_says_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"a,y\n1,2\n" * 10)
    assert f"{name} cannot be read as {name[2:]}" in refusal(tmp_path / name, target="y")


def test_letters_of_another_encoding_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a,y\nzürich,1\nbern,0\n".encode("latin-1"))
    assert "t.csv cannot be read as csv" in refusal(tmp_path / "t.csv", target="y")


def test_a_preview_says_what_would_be_stored_and_stores_nothing(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "age,job,ward,y", "1,cook,n,0", "2,,n,1", "3,smith,s,0")
    shown = preview(path, target="y", client="ward", test_share=0.5)
    assert [
        (each.name, each.type, each.role, each.features, each.missing, each.examples) for each in shown.columns
    ] == [
        ("age", "numbers", "number", 1, 0, ("1", "2", "3")),
        ("job", "text", "category", 3, 1, ("cook", "smith")),
        ("ward", "text", "client", 0, 0, ("n", "s")),
        ("y", "numbers", "target", 0, 0, ("0", "1")),
    ]
    assert (shown.name, shown.kind, shown.rows, shown.train, shown.test) == ("t", "table (csv)", 3, 2, 1)
    assert (shown.classes, shown.clients, shown.shape) == (2, 2, (4,))
    assert shown.class_counts == (ClassCount("0", 2), ClassCount("1", 1))
    assert shown.bytes == 3 * (4 * 4 + 8)
    assert shown.problems == (
        "t.csv, row 2, column 'job': the value is missing. Fill it in, leave the column out, or have missing values "
        "filled.",
    )
    assert own().editions() == []


def test_only_files_below_allowed_folders_are_opened(tmp_path: Path) -> None:
    secret = write_text(tmp_path / "secret.csv", "a,y", "1,0", "2,1")
    (tmp_path / "imports").mkdir()
    link = tmp_path / "imports" / "t.csv"
    link.symlink_to(secret)
    with pytest.raises(Exception, match="leads out of the folders that may be imported from"):
        own().import_path(str(link), within=[tmp_path / "imports"])


def test_a_pipe_among_the_files_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    write_text(tmp_path / "set" / "train.csv", "a,y", "1,0", "2,1")
    os.mkfifo(tmp_path / "set" / "test.csv")
    with pytest.raises(DatasetError, match=r"test\.csv is no file"):
        own().import_path(str(tmp_path / "set"), within=[tmp_path])
