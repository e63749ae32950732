"""When results are published: on a quiet machine, beside what was published before."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import publish
from benchmarks.__main__ import PARTS
from benchmarks.engine.report import engine_ratios
from benchmarks.machine import refuse_or_warn
from benchmarks.ratios import Ratio, lower_ratios, time_ratio


def test_a_ratio_is_of_medians_and_its_noise_is_half_the_range_of_both_sides() -> None:
    """Theirs 9 to 11 around 10, ours 1.9 to 2.1 around 2: a tenth and a twentieth."""
    ratio = time_ratio([9.0, 10.0, 11.0], [1.9, 2.0, 2.1])
    assert (ratio.value, ratio.noise) == (pytest.approx(5.0), pytest.approx(0.15))
    assert time_ratio([10.0], [2.0]) == Ratio(5.0, 0.05)


def test_a_ratio_below_the_published_one_by_more_than_noise_is_told() -> None:
    published = {"a": Ratio(10.0, 0.05), "b": Ratio(10.0, 0.05), "gone": Ratio(3.0)}
    current = {"a": Ratio(9.1, 0.05), "b": Ratio(8.9, 0.05), "new": Ratio(1.0)}
    assert list(lower_ratios(current, published)) == ["b: 8.90x, 10.00x was published last, and noise is 10%"]


def test_the_engines_noise_is_that_of_its_passes() -> None:
    contests = {
        "logistic/tributary": {"warm": 0.005, "pass_medians": [0.0048, 0.0050, 0.0052]},
        "logistic/flower-ray": {"warm": 0.2, "pass_medians": [0.18, 0.20, 0.22]},
        "logistic/pfl": {"warm": 0.02},
    }
    ratios = engine_ratios({"contests": contests})
    assert (ratios["logistic/flower-ray"].value, ratios["logistic/flower-ray"].noise) == (
        pytest.approx(40.0),
        pytest.approx(0.14),
    )
    assert (ratios["logistic/pfl"].value, ratios["logistic/pfl"].noise) == (pytest.approx(4.0), 0.05)


def test_nothing_is_published_on_a_busy_machine(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        refuse_or_warn(0.37, publish=True)
    assert str(refusal.value) == (
        "Others use 37% of this machine's processors (5% may be used): nothing was measured. Publish when it is quiet, "
        "or leave --publish out."
    )
    refuse_or_warn(0.37, publish=False)
    assert capsys.readouterr().err.endswith("(5% may be used): ratios are less certain.\n")


def test_what_is_not_published_lies_aside_and_warns_beside_what_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    monkeypatch.setattr(publish, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(publish, "LATEST", tmp_path / "results" / "latest")
    fast = {"machine": {"cpu": "A", "cores": 2}, "ratio": 10.0}
    slow = {"machine": {"cpu": "B", "cores": 2}, "ratio": 5.0}
    publish.store_results("some", fast, "| fast |", publish=True)
    publish.warn_of_lower_ratios("some", slow, lambda results: {"x": Ratio(results["ratio"])})
    publish.store_results("some", slow, "| slow |", publish=False)
    assert json.loads((tmp_path / "results" / "some.json").read_text()) == fast
    assert (tmp_path / "results" / "latest" / "some.md").read_text() == "| slow |\n"
    warning = "WARNING, slower than before: x: 5.00x, 10.00x was published last, and noise is 10%"
    assert f"{warning} (on another machine: A)\n" in capsys.readouterr().out


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_make_bench_is_a_command_with_the_same_options(
    part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"benchmarks.{part}"
    module = place if find_spec(place).submodule_search_locations is None else f"{place}.__main__"
    with pytest.raises(SystemExit):
        import_module(module).main(["--help"])
    text = capsys.readouterr().out
    assert "--quick" in text
    assert "--publish" in text


def test_without_a_gpu_that_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    from benchmarks.gpu import main

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main([]) == 0
    assert capsys.readouterr().out == "No GPU here: nothing was measured.\n"


def test_runs_at_once_are_shown_beside_one() -> None:
    from benchmarks.gpu import gpu_table

    machine = {"gpu": "Some GPU", "packages": {"torch": "2.13.0"}, "python": "3.11.7"}
    lines = gpu_table({"machine": machine, "shapes": {"har": {"1": 20.0, "4": 50.0}}}).splitlines()
    assert lines[4:] == [
        "| MLP 561-50-6, 21 clients x 350, 5 epochs | 1 | 20.0 | 1.00x |",
        "|  | 4 | 50.0 | 2.50x |",
    ]
