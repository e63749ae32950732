"""Odd values in every format, and text that a spreadsheet would run."""

import csv
import json
import math
from datetime import UTC, datetime
from io import BytesIO, StringIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from experiments.export.columns import spec_fields
from experiments.export.tables.table import Table, word_array
from experiments.export.writing import FORMATS

MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def table() -> Table:
    columns = {
        "word": word_array(["=1+1", None, 'a "b", c\n']),
        "value": pa.array([math.nan, -math.inf, 1e-9]),
        "count": pa.array([None, 2, 3], pa.int64()),
        "50% flag": pa.array([True, None, False]),
        "at": pa.array([MOMENT, None, MOMENT], pa.timestamp("us", tz="UTC")),
    }
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Table(batch.schema, iter([batch.slice(0, 2), batch.slice(2)]))


def encode_table(kind: str) -> bytes:
    return b"".join(FORMATS[kind].encode(table()))


def test_csv_leaves_what_does_not_exist_empty_and_disarms_formulas() -> None:
    header, *rows = csv.reader(StringIO(encode_table("csv").decode(), newline=""))
    assert header == ["word", "value", "count", "50% flag", "at"]
    assert [row[:4] for row in rows] == [
        ["'=1+1", "nan", "", "true"],
        ["", "-inf", "2", ""],
        ['a "b", c\n', "1e-9", "3", "false"],
    ]


@pytest.mark.parametrize("word", ["=x", "+1", "-1", "@cmd", "\tx", "\rx"])
def test_every_way_to_begin_a_formula_is_disarmed(word: str) -> None:
    batch = pa.RecordBatch.from_arrays([word_array([word, "plain"])], names=["word"])
    content = b"".join(FORMATS["csv"].encode(Table(batch.schema, iter([batch]))))
    assert list(csv.reader(StringIO(content.decode(), newline="")))[1:] == [[f"'{word}"], ["plain"]]


def test_json_has_null_and_words_for_odd_numbers() -> None:
    expected: list[dict[str, Any]] = [
        {"word": "=1+1", "value": "NaN", "count": None, "50% flag": True, "at": "2026-03-01T12:00:00+00:00"},
        {"word": None, "value": "-Infinity", "count": 2, "50% flag": None, "at": None},
        {"word": 'a "b", c\n', "value": 1e-9, "count": 3, "50% flag": False, "at": "2026-03-01T12:00:00+00:00"},
    ]
    assert json.loads(encode_table("json")) == expected
    assert [json.loads(line) for line in encode_table("ndjson").splitlines()] == expected


def test_parquet_has_them_as_they_are() -> None:
    read = pyarrow.parquet.read_table(BytesIO(encode_table("parquet")))
    assert read.column("word").to_pylist() == ["=1+1", None, 'a "b", c\n']
    assert [repr(value) for value in read.column("value").to_pylist()] == ["nan", "-inf", "1e-09"]
    assert read.column("at").to_pylist() == [MOMENT, None, MOMENT]
    assert str(read.schema.field("word").type) == "string"


def test_fields_take_the_type_all_their_values_have() -> None:
    specs = [
        {"n": 1, "x": 1, "flag": True, "mixed": "auto", "list": [1, 2], "huge": 2**70},
        {"n": 2, "x": 0.5, "flag": False, "mixed": 3, "late": "here"},
    ]
    fields = spec_fields(specs)
    every = range(2)
    columns = {name: field.column(pa.array(every).to_numpy()) for name, field in fields.items()}
    assert {name: column.to_pylist() for name, column in columns.items()} == {
        "n": [1, 2],
        "x": [1.0, 0.5],
        "flag": [True, False],
        "mixed": ["auto", "3"],
        "list": ["[1, 2]", None],
        "huge": [2.0**70, None],
        "late": [None, "here"],
    }
    assert all(field.varies for field in fields.values())
    assert not spec_fields([{"n": 1}, {"n": 1}])["n"].varies
