"""Grids: the examples of the design page, merging, and errors at the place where a person wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from workers.errors import Problem, SpecError
from workers.spec import canonical_hash, cell_hash, count_runs, expand, parse_run

BASE: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedavg"},
    "rounds": 1,
}
THREE_STRATEGIES = [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.01, 0.1]}]
THREE_PARTITIONS = [{"name": "iid"}, {"name": "label-dirichlet", "alpha": [0.1, 0.5]}]


def problems(*blocks: Any, **options: Any) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        expand(list(blocks), **options)
    return caught.value.errors


def test_lists_at_any_depth_are_axes() -> None:
    grid = expand([BASE | {"strategy": THREE_STRATEGIES, "partition": THREE_PARTITIONS, "seeds": 3}])
    assert (len(grid.runs), grid.cells) == (27, 9)


def test_a_block_without_lists_is_one_run() -> None:
    grid = expand([BASE])
    assert [run.spec.seed for run in grid.runs] == [0]


def test_runs_come_in_the_order_written() -> None:
    grid = expand([BASE | {"rounds": [3, 1], "seeds": [7, 0]}])
    assert [(run.spec.rounds, run.spec.seed) for run in grid.runs] == [(3, 7), (3, 0), (1, 7), (1, 0)]


def test_equal_runs_of_several_blocks_are_merged() -> None:
    grid = expand([BASE | {"seeds": 3}, BASE | {"seeds": [2, 5]}])
    assert [run.spec.seed for run in grid.runs] == [0, 1, 2, 5]
    assert grid.cells == 1


def test_a_default_written_out_is_the_same_run() -> None:
    assert len(expand([BASE, BASE | {"clients": 10, "fraction": 1}]).runs) == 1


def test_ratio_zero_under_two_methods_is_two_cells() -> None:
    grid = expand([BASE | {"hybrid": {"method": ["share-disjoint", "unify"], "ratio": 0.0}}])
    assert grid.cells == 2


def test_a_list_in_a_list_is_one_value() -> None:
    assert count_runs({"shape": [[1, 8, 8], [3, 8, 8]], "seeds": 2}) == 4


def test_the_size_is_known_without_expanding() -> None:
    assert count_runs(BASE | {"rounds": list(range(1, 1001)), "seeds": 1000}) == 1_000_000


def test_a_grid_over_the_limit_is_refused_before_it_is_expanded() -> None:
    found = problems(BASE | {"rounds": list(range(1, 1001)), "seeds": 1000})
    assert found == (Problem("blocks", "The grid has 1,000,000 runs; the limit is 10,000. Narrow an axis."),)


def test_errors_point_at_the_value_as_it_was_written() -> None:
    found = problems(
        BASE,
        BASE | {"strategy": [{"name": "fedavg", "mu": 1}, {"name": "fedprox", "mu": [0.1, -1]}], "cohort": [5, 99]},
    )
    assert found == (
        Problem("blocks.1.cohort.1", "99 clients per round, but only 10 clients."),
        Problem("blocks.1.strategy.0.mu", "Unknown field. Choose one of name, every."),
        Problem("blocks.1.strategy.1.mu.1", "Input should be greater than or equal to 0, got -1."),
    )


def test_a_value_without_a_list_keeps_the_plain_path() -> None:
    found = problems(BASE | {"strategy": {"name": "fedprox", "mu": -1}})
    assert [problem.path for problem in found] == ["blocks.0.strategy.mu"]


def test_a_missing_field_is_reported_below_its_block() -> None:
    assert problems({"dataset": {"name": "digits"}, "model": {"name": "mlp-50"}}) == (
        Problem("blocks.0.strategy", "This field is required."),
    )


@pytest.mark.parametrize("blocks", [[], None, {}, "x"])
def test_a_study_needs_a_block(blocks: Any) -> None:
    with pytest.raises(SpecError) as caught:
        expand(blocks)
    assert caught.value.errors == (Problem("blocks", "A study needs at least one block."),)


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"rounds": []}, "blocks.0.rounds", "This axis has no values."),
        ({"strategy": {"name": "fedprox", "mu": []}}, "blocks.0.strategy.mu", "This axis has no values."),
        ({"seeds": 0}, "blocks.0.seeds", "Between 1 and 10,000 seeds are needed."),
        ({"seeds": []}, "blocks.0.seeds", "Between 1 and 10,000 seeds are needed."),
        ({"seeds": "5"}, "blocks.0.seeds", "A number of seeds, or a list of them."),
        ({"seeds": 2, "seed": 1}, "blocks.0.seeds", "Give either seed or seeds, not both."),
        ({3: 1}, "blocks.0.3", "Field names are text."),
    ],
)
def test_a_block_that_cannot_be_read_is_refused(change: dict[Any, Any], path: str, message: str) -> None:
    assert problems(BASE | change) == (Problem(path, message),)


def test_a_block_must_be_a_mapping() -> None:
    assert problems("digits") == (Problem("blocks.0", "A block is a mapping of fields."),)


def test_runs_that_are_checked_together_have_the_hashes_of_runs_checked_alone() -> None:
    block = {**BASE, "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}], "seeds": [0, 7, 2**31 - 1]}
    for run in expand([block]).runs:
        alone = parse_run(run.spec.model_dump(mode="json"))
        assert (run.spec, run.hash, run.cell) == (alone, canonical_hash(alone), cell_hash(alone))


def test_every_wrong_seed_is_told() -> None:
    with pytest.raises(SpecError) as caught:
        expand([{**BASE, "seeds": [0, -1, 1, 2**31, True, "x"]}])
    assert [problem.path for problem in caught.value.errors] == [f"blocks.0.seeds.{place}" for place in (1, 3, 4, 5)]


def test_sizes_of_layers_are_one_value_and_can_be_an_axis() -> None:
    grid = expand([BASE | {"model": {"name": "mlp", "hidden": [[256, 128], [64]]}}])
    assert [run.spec.model.hidden for run in grid.runs] == [(256, 128), (64,)]


def test_of_very_many_problems_a_thousand_are_worded() -> None:
    with pytest.raises(SpecError) as caught:
        expand([{**BASE, **{f"k{number}": 1 for number in range(5_000)}}])
    assert (caught.value.detail, len(caught.value.errors)) == ("The spec has 1,000 or more problems.", 1_000)


def test_a_grid_of_which_nothing_is_right_is_not_read_to_its_end() -> None:
    """Four hundred unknown fields in each of 200 variants; the second block is not looked at any more."""
    wrong = {**BASE, "rounds": list(range(1, 201)), **{f"k{number}": 1 for number in range(400)}}
    with pytest.raises(SpecError) as caught:
        expand([wrong, {**BASE, "clients": "many"}])
    assert len(caught.value.errors) == 400
    assert {problem.path.split(".")[1] for problem in caught.value.errors} == {"0"}
