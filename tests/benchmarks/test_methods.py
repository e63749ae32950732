"""docs/methods.md: its numbers are those of the experiments as they are defined now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.methods.__main__ import PAGE, PICTURES, read_results, section_text
from benchmarks.methods.experiments import EXPERIMENTS, Experiment
from benchmarks.methods.measure import interval_point, is_current, measure_experiment, merge_fields

SMALL = Experiment(
    name="small",
    title="",
    x="",
    y="",
    block={
        "dataset": {"name": "blobs", "shape": [4], "classes": 3, "train": 60, "test": 12},
        "model": {"name": "logistic"},
        "strategy": {"name": "fedavg"},
        "partition": {"name": "iid"},
        "clients": 5,
        "rounds": 2,
        "local": {"epochs": 1, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0.1}},
    },
    lines={"whole": {}, "signs": {"compression": {"name": "sign"}}},
    seeds=2,
    over="bytes_up",
)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_the_page_has_the_results_of_the_experiment_as_it_is_defined(experiment: Experiment) -> None:
    results = read_results()[experiment.name]

    assert is_current(experiment, results)
    assert section_text(experiment, results) in PAGE.read_text()
    assert (PICTURES / f"{experiment.name}.svg").exists()


def test_an_interval_is_students_and_stays_within_what_is_possible() -> None:
    """Three values 0.1 apart: t = 4.302653, times 0.1 over the root of 3 makes 0.24841."""
    assert interval_point(2.0, [0.8, 0.9, 1.0]) == [2.0, 0.9, 0.65159, 1.0]


def test_fields_of_one_part_are_joined() -> None:
    joined = merge_fields({"privacy": {"clip": 1.0}, "clients": 5}, {"privacy": {"epsilon": 8.0}, "rounds": 2})

    assert joined == {"privacy": {"clip": 1.0, "epsilon": 8.0}, "clients": 5, "rounds": 2}


def test_bytes_so_far_are_the_axis_of_a_curve() -> None:
    """Each of five clients sends 15 values of 4 bytes and three scalars of 8, or 15 bits in 2 bytes and 2 scales."""
    lines = measure_experiment(SMALL, lambda line: None)["lines"]

    assert [point[0] for point in lines["whole"]] == [0.0, 0.00042, 0.00084]
    assert [point[0] for point in lines["signs"]] == [0.0, 0.00017, 0.00034]


def test_lines_that_are_as_they_were_are_not_measured_again() -> None:
    earlier = measure_experiment(SMALL, lambda line: None)
    told: list[str] = []
    more = replace(SMALL, lines={"tenth": {"compression": {"name": "top-k", "share": 0.1}}, **SMALL.lines})

    lines = measure_experiment(more, told.append, earlier)["lines"]
    anew = replace(more, seeds=3)
    measure_experiment(anew, told.append, earlier)

    assert [line.split()[1] for line in told] == ["tenth", "tenth", "whole", "signs"]
    assert list(lines) == ["tenth", "whole", "signs"]
    assert lines["signs"] == earlier["lines"]["signs"]


def test_a_table_over_bytes_says_what_was_sent_to_the_target() -> None:
    points = [[0.0, 0.1, 0.1, 0.1], [1.25, 0.85, 0.8, 0.9], [2.5, 0.8, 0.7, 0.9]]
    small = replace(SMALL, title="Small")

    text = section_text(small, {"lines": {"whole": points, "signs": points[:1]}})

    assert text.splitlines()[2:] == [
        "| accuracy in %, 2 seeds | last | MB in all | MB to 85 % |",
        "| --- | ---: | ---: | ---: |",
        "| whole | 80.0 ± 10.0 | 2.5 | 1.25 |",
        "| signs | 10.0 ± 0.0 | 0.0 | never |",
    ]
