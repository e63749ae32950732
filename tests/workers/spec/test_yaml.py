from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest

from workers.errors import SpecError
from workers.spec.yaml import load_yaml, read_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E5", 100000.0),
        ("-2.5e+1", -25.0),
        (".5", 0.5),
        ("3.", 3.0),
        ("0.1", 0.1),
        ("10", 10),
        ("-7", -7),
        ("+7", 7),
        ("010", 10),
        ("0x1f", 31),
        ("0o17", 15),
        ("-.inf", -math.inf),
        (".Inf", math.inf),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
    ],
)
def test_plain_values_are_what_they_look_like(text: str, value: object) -> None:
    loaded = load_yaml(f"field: {text}")["field"]
    assert loaded == value
    assert type(loaded) is type(value)


@pytest.mark.parametrize(
    "text", ["on", "off", "yes", "no", "y", "1:30", "2026-01-01", "1_000", "1e", "e5", ".", "-", "=", "0x", "fedavg"]
)
def test_words_stay_words(text: str) -> None:
    assert load_yaml(f"field: '{text}'") == {"field": text}
    if text != "-":
        assert load_yaml(f"field: {text}") == {"field": text}


def test_not_a_number_is_kept() -> None:
    assert math.isnan(load_yaml("field: .nan")["field"])


def test_a_field_called_on_is_a_field() -> None:
    assert load_yaml("evaluation: {on: clients, every: 5}") == {"evaluation": {"on": "clients", "every": 5}}


def test_quoted_numbers_are_text() -> None:
    assert load_yaml("field: '1e-3'") == {"field": "1e-3"}


def test_anchors_and_merges_work() -> None:
    text = "base: &base {rounds: 5, seed: 1}\nrun: {<<: *base, seed: 2}"
    assert load_yaml(text)["run"] == {"rounds": 5, "seed": 2}


def test_a_key_given_twice_is_an_error_with_its_place() -> None:
    with pytest.raises(SpecError) as caught:
        load_yaml("rounds: 5\nseed: 1\nrounds: 6\n")
    assert [(each.path, each.message) for each in caught.value.errors] == [
        ("line 3, column 1", "rounds is given twice")
    ]


def test_broken_yaml_is_an_error_with_its_place() -> None:
    with pytest.raises(SpecError, match=r"Not valid YAML") as caught:
        load_yaml("rounds: 5\nlocal: {epochs: 1\n")
    assert caught.value.errors[0].path == "line 3, column 1"


def test_objects_are_refused() -> None:
    with pytest.raises(SpecError, match="Not valid YAML"):
        load_yaml("field: !!python/object/apply:os.getcwd []")


def test_control_characters_are_refused() -> None:
    with pytest.raises(SpecError, match="Not valid YAML"):
        load_yaml("field: \x00")


NINE = ", ".join(["*{}"] * 9)
LETTERS = "abcdefghijklm"
ALIASES_OF_ALIASES = "a: &a [x]\n" + "".join(
    f"{this}: &{this} [{NINE.format(*last * 9)}]\n" for last, this in pairwise(LETTERS)
)
MERGES_OF_MERGES = "a: &a {x: 1}\n" + "".join(
    f"{this}: &{this} {{<<: [{NINE.format(*last * 9)}]}}\n" for last, this in pairwise(LETTERS)
)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        # 2 values in the first line, then 1 + 9 times as many in each: 19, 172, 1549, 13942, 125479, 1129312.
        (ALIASES_OF_ALIASES, "line 7, column 4", "more than 1,000,000 values, its aliases written out"),
        (MERGES_OF_MERGES, "line 7, column 12", "more than 1,000,000 values, its aliases written out"),
        ("[" * 2000, "line 1, column 51", "nested deeper than 50 levels"),
        ("{a: " * 2000, "line 1, column 198", "nested deeper than 50 levels"),
        ("a: &a [1, *a]", "line 1, column 11", "a value that contains itself"),
        ("a: " + "9" * 5000, "line 1, column 4", "this value cannot be read as what its tag or its digits say"),
        ("a: !!bool maybe", "line 1, column 4", "this value cannot be read as what its tag or its digits say"),
        ("a" * 5_000_001, "", "More than 5,000,000 characters."),
    ],
    ids=["aliases", "merges", "lists", "mappings", "itself", "digits", "tag", "long"],
)
def test_texts_that_mean_harm_are_refused_with_their_place(text: str, place: str, message: str) -> None:
    with pytest.raises(SpecError, match="Not valid YAML") as caught:
        load_yaml(text)
    assert [(each.path, each.message) for each in caught.value.errors] == [(place, message)]


def test_it_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("name: Größe\n", encoding="utf-8")
    assert read_yaml(path) == {"name": "Größe"}


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="No such file or directory"):
        read_yaml(tmp_path / "absent.yaml")


def test_a_file_of_other_text_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("name: Größe".encode("latin-1"))
    with pytest.raises(SpecError, match="not UTF-8 text"):
        read_yaml(path)
