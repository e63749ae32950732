from __future__ import annotations

import base64
import csv
import math
from io import StringIO

import numpy as np

from experiments.charts.chart import PACKED_LENGTH, DataTable, csv_text, pack_figure, plotly_figure


def test_numbers_keep_every_digit_and_nothing_becomes_a_formula() -> None:
    table = DataTable(("name", "value"), (("=1+1", 0.1 + 0.2), ("a,b", None)))
    assert csv_text(table) == 'name,value\n\'=1+1,0.30000000000000004\n"a,b",\n'


def test_rows_are_objects_for_programs() -> None:
    assert DataTable(("a", "b"), ((1, "x"),)).objects() == [{"a": 1, "b": "x"}]


def test_long_series_travel_as_typed_arrays_with_gaps_as_nan() -> None:
    values = [None, *(place / 3 for place in range(PACKED_LENGTH))]
    trace = pack_figure({"data": [{"x": values, "y": [1, 2]}], "layout": {}})["data"][0]
    assert trace["x"]["dtype"] == "f8"
    assert trace["y"] == [1, 2]
    array = np.frombuffer(base64.b64decode(trace["x"]["bdata"]), dtype="<f8")
    assert np.isnan(array[0])
    assert array[1:].tolist() == values[1:]


def test_words_are_never_packed() -> None:
    words = ["a"] * (PACKED_LENGTH + 1)
    assert pack_figure({"data": [{"x": words}], "layout": {}})["data"][0]["x"] == words


def test_no_cell_of_a_csv_file_is_a_formula_not_even_in_its_head() -> None:
    risky = ("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx", "\rx")
    head, row = csv.reader(StringIO(csv_text(DataTable(risky, (risky,))), newline=""))
    assert head == row == ["'=cmd|' /C calc'!A0", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\nx"]


def test_a_return_within_a_word_begins_no_row() -> None:
    assert csv_text(DataTable(("a",), (("x\r=1+1",),))) == 'a\n"x\n=1+1"\n'


def test_a_name_that_is_markup_is_drawn_as_it_was_written() -> None:
    name = '<a href="https://evil.example">FedAvg</a> &lt; <b>b</b>'
    figure = {"data": [{"name": name, "y": [name, 1.5, None], "hovertemplate": f"{name}<br>%{{y}}<extra></extra>"}]}
    written = '&lt;a href="https://evil.example">FedAvg&lt;/a> &amp;lt; &lt;b>b&lt;/b>'
    assert plotly_figure(figure) == {
        "data": [{"name": written, "y": [written, 1.5, None], "hovertemplate": f"{written}<br>%{{y}}<extra></extra>"}]
    }
    assert plotly_figure({"layout": {"title": name}, "z": [[math.nan, 1.0]]}) == {
        "layout": {"title": written},
        "z": [[None, 1.0]],
    }
