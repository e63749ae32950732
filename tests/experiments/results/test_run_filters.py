from typing import Any

import pytest

from experiments.models import Run, RunState, Study, User
from experiments.results.selectors.run_filters import filter_runs, parse_run_filters, spec_paths
from tests.experiments.lab import launched, moved, runs_in_order
from workers.errors import SpecError

GRID: dict[str, Any] = {
    "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.1, 1.0]}],
    "partition": [{"name": "iid"}, {"name": "label-dirichlet", "alpha": 0.5}],
    "seeds": [0, 7],
}


@pytest.fixture
def study(owner: User) -> Study:
    """Strategy, then partition, then seed: twelve runs at positions 0 to 11."""
    return launched(owner, **GRID)


def positions(study: Study, **filters: list[str]) -> list[int]:
    runs = set(
        filter_runs(
            Run.objects.all(),
            parse_run_filters({key.replace("__", "."): each for key, each in filters.items()}.items()),
        )
    )
    return [index for index, run in enumerate(runs_in_order(study)) if run in runs]


def described(study: Study) -> list[tuple[str, float | None, str, int]]:
    specs = [run.spec for run in runs_in_order(study)]
    return [
        (each["strategy"]["name"], each["strategy"].get("mu"), each["partition"]["name"], each["seed"])
        for each in specs
    ]


def test_the_grid_is_in_the_order_the_other_tests_count_on(study: Study) -> None:
    assert described(study)[:5] == [
        ("fedavg", None, "iid", 0),
        ("fedavg", None, "iid", 7),
        ("fedavg", None, "label-dirichlet", 0),
        ("fedavg", None, "label-dirichlet", 7),
        ("fedprox", 0.1, "iid", 0),
    ]


def test_a_components_path_means_its_name(study: Study) -> None:
    assert positions(study, strategy=["fedavg"]) == [0, 1, 2, 3]
    assert positions(study, local__optimizer=["sgd"]) == list(range(12))


def test_several_values_mean_any_of_them_and_several_names_all(study: Study) -> None:
    assert positions(study, strategy__mu=["0.1", "1"], partition=["iid"]) == [4, 5, 8, 9]
    assert positions(study, strategy__mu=["1.0"], seed=["7"]) == [9, 11]


def test_numbers_are_compared_as_numbers_and_words_as_words(study: Study) -> None:
    assert positions(study, strategy__mu=["1e0"], partition__alpha=["0.50"]) == [10, 11]
    assert positions(study, cohort=["null"], rounds=["2"]) == list(range(12))
    assert positions(study, strategy__mu=["nan"]) == []


def test_states_runs_and_cells_filter_too(study: Study) -> None:
    first, second, third, *_ = runs_in_order(study)
    moved(first, RunState.DONE)
    moved(second, RunState.FAILED)
    assert positions(study, state=["done", "failed"]) == [0, 1]
    assert positions(study, run=[str(third.pk)]) == [2]
    assert positions(study, cell=[third.cell]) == [2, 3]


def test_a_run_in_two_studies_is_found_once(study: Study, owner: User) -> None:
    other = launched(owner, "Again", **GRID)
    Study.objects.filter(pk=other.pk).update(tags=["paper", "mine"])
    both = parse_run_filters([("study", [study.pk, other.pk])])
    assert filter_runs(Run.objects.all(), both).count() == 12
    assert filter_runs(Run.objects.all(), parse_run_filters([("tag", ["paper", "x"])])).count() == 12
    assert filter_runs(Run.objects.all(), parse_run_filters([("tag", ["pap"])])).count() == 0


def test_every_mistake_is_told_with_its_name() -> None:
    with pytest.raises(SpecError) as caught:
        parse_run_filters(
            [("strat", ["fedavg"]), ("strategy.muu", ["1"]), ("study", ["x"]), ("state", ["gone"]), ("limit", [3])],
            besides=["limit"],
        )
    assert [each.path for each in caught.value.errors] == ["state", "strat", "strategy.muu", "study"]
    assert caught.value.errors[0].message == "Choose one of queued, running, done, failed, cancelled."


@pytest.mark.parametrize("odd", ["\0", '"\\u0000"', "1e999", "[" * 20_000, "9" * 6_000, '"\\ud800"', '{"a": [NaN]}'])
def test_odd_values_match_nothing(study: Study, odd: str) -> None:
    for name in ("strategy.mu", "tag", "cell"):
        assert not filter_runs(Run.objects.all(), parse_run_filters([(name, [odd])])).exists()


@pytest.mark.parametrize("number", ["-1", "1.5", "", "²", str(2**63), "9" * 5_000])
def test_ids_and_seeds_are_whole_numbers(number: str) -> None:
    with pytest.raises(SpecError, match="whole number"):
        parse_run_filters([("seed", [number])])


def test_paths_are_those_of_every_component() -> None:
    assert {
        "strategy",
        "strategy.mu",
        "strategy.server_lr",
        "local.optimizer.lr",
        "hybrid.ratio",
        "partition.alpha",
        "engine",
    } <= spec_paths()
    assert not {"strategy.name", "local.optimizer.name", "name", ""} & spec_paths()
