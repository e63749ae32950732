"""A study as text: nothing is lost between form and YAML, and what a person wrote stays theirs."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from experiments.studies.editor.source import (
    line_of_path,
    read_study_text,
    rewrite_yaml,
    same_json,
    study_from_yaml,
    without_empty,
    yaml_from_study,
)

TEXT = """\
# Why: the river is wide
name: Rivers   # a working title
blocks:
  - rounds: 20          # enough
    dataset: {name: digits}
    strategy:
      - {name: fedavg}
      # the one we doubt
      - {name: fedprox, mu: 0.1}
    seeds: 3
"""
STUDY = study_from_yaml(TEXT)

scalars = some.one_of(
    some.booleans(),
    some.integers(-(2**31), 2**31),
    some.floats(allow_nan=False, allow_infinity=False),
    some.text(some.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
    some.sampled_from(["on", "yes", "1e-3", "010", "null", "~", "# no comment", "a: b", "- x", "=", "<<", "1_000"]),
    some.none(),
)
names = some.sampled_from(["dataset", "strategy", "rounds", "local", "hybrid", "mu", "name", "seeds", "on"])
values = some.recursive(
    scalars, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(names, inner, max_size=3), max_leaves=8
)
studies = some.fixed_dictionaries(
    {
        "name": some.text("abc #:-", min_size=1, max_size=9),
        "blocks": some.lists(some.dictionaries(names, values, max_size=4), min_size=1, max_size=2),
    }
)


@given(studies)
@settings(max_examples=60, deadline=None)
def test_whatever_the_form_holds_comes_back_from_its_text(study: dict[str, Any]) -> None:
    assert same_json(study_from_yaml(yaml_from_study(study)), without_empty(study))


@given(studies, studies)
@settings(max_examples=60, deadline=None)
def test_a_text_that_is_rewritten_says_the_new_study(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert same_json(study_from_yaml(rewrite_yaml(yaml_from_study(before), after)), without_empty(after))


def test_a_text_that_says_the_same_is_not_touched() -> None:
    assert rewrite_yaml(TEXT, {**STUDY, "description": "", "tags": []}) == TEXT


def test_comments_and_order_outlive_a_change_in_the_form() -> None:
    block = {
        **STUDY["blocks"][0],
        "rounds": 50,
        "clients": 7,
        "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.1, 1]}],
    }
    assert (
        rewrite_yaml(TEXT, {**STUDY, "blocks": [block]})
        == """\
# Why: the river is wide
name: Rivers   # a working title
blocks:
  - rounds: 50          # enough
    dataset: {name: digits}
    strategy:
      - {name: fedavg}
      # the one we doubt
      - {name: fedprox, mu: [0.1, 1]}
    clients: 7
    seeds: 3
"""
    )


def test_a_text_that_cannot_be_read_is_written_anew() -> None:
    assert rewrite_yaml("name: [", STUDY) == yaml_from_study(STUDY)
    assert rewrite_yaml("", STUDY) == yaml_from_study(STUDY)


def test_one_and_one_point_zero_and_true_are_three_things() -> None:
    assert not same_json({"x": 1}, {"x": 1.0})
    assert not same_json({"x": 1}, {"x": True})
    assert "x: 1.0" in rewrite_yaml("name: a\nblocks: [{x: 1}]\n", {"name": "a", "blocks": [{"x": 1.0}]})


def test_a_problem_finds_the_line_of_its_field_or_of_what_is_around_it() -> None:
    lines = read_study_text(TEXT).lines
    assert line_of_path(lines, "blocks.0.rounds") == 4
    assert line_of_path(lines, "blocks.0.strategy.1.mu") == 9
    assert line_of_path(lines, "blocks.0.model") == 4
    assert line_of_path(lines, "priority") is None
