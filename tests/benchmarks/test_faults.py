"""Every fault once on short runs, on a platform of its own; and the page that shows what came of many."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults.report import MARKS, broken_promises, faults_table, merge_results
from benchmarks.publish import ROOT

FAULTS = (
    "runner-killed",
    "worker-killed",
    "worker-leaves",
    "worker-frozen",
    "worker-cut-off",
    "redis-lost",
    "postgres-restarted",
    "messages-twice",
    "two-workers-race",
    "disk-full",
    "run-hangs",
    "run-leaks",
    "web-restarted",
    "store-cut-off",
    "store-slow",
)
KEPT = ROOT / "benchmarks" / "results" / "faults.json"
MACHINE = {"cpu": "Some CPU", "cores": 2, "system": "Linux x86_64", "python": "3.11.7"}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """In a process of its own, whose PostgreSQL may be stopped without harm to other tests."""
    path = tmp_path_factory.mktemp("faults") / "results.json"
    command = [sys.executable, "-m", "benchmarks.faults", "--times", "1", "--short", "--to", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    assert path.exists(), done.stderr
    results: dict[str, Any] = json.loads(path.read_text())
    return results


@pytest.mark.parametrize("fault", FAULTS)
def test_all_is_there_once_and_equal_to_the_bit_after(fault: str, outcome: dict[str, Any]) -> None:
    (only,) = outcome["faults"][fault]["tries"]
    assert only["problems"] == []


def test_every_fault_is_tried(outcome: dict[str, Any]) -> None:
    assert tuple(outcome["faults"]) == FAULTS


def results(*problems: str) -> dict[str, Any]:
    attempts, reasons = ["crashed", "done", "done"], ["The run's process was killed by SIGKILL."]
    trial = {"moment": "round 9", "runs": 2, "rounds": 122, "attempts": attempts, "reasons": reasons}
    tries = [
        {**trial, "taken_up_after": 0.25, "problems": []},
        {**trial, "taken_up_after": 0.75, "problems": list(problems)},
    ]
    faults = {"killed": {"title": "`kill -9`", "promise": "it goes on", "tries": tries}}
    return {"machine": MACHINE, "lease": 5, "faults": faults}


def test_the_table_tells_how_often_and_what_happened() -> None:
    assert faults_table(results()).splitlines() == [
        "2 faults at random moments, 244 rounds of 4 runs: **2 of 2** as promised. Lease 5 s; Some CPU, 2 cores, "
        "Linux x86_64, Python 3.11.7.",
        "",
        "| fault | tried | what happened | what is promised |",
        "| --- | ---: | --- | --- |",
        "| `kill -9` | 2 | **2 of 2** equal to the bit; attempts: 2 crashed, 4 done; taken up again after 0.5 s "
        "(at most 0.8 s) | it goes on |",
    ]
    assert broken_promises(results()) == []


def test_a_fault_that_is_tried_anew_replaces_all_its_earlier_tries_and_no_others() -> None:
    killed = results()["faults"]["killed"]
    earlier = {"machine": {"commit": "aaa"}, "lease": 5, "faults": {"killed": killed, "frozen": killed}}
    fresh = {"machine": {"commit": "bbb"}, "lease": 5, "faults": {"killed": {**killed, "tries": []}}}
    assert merge_results(earlier, fresh)["faults"] == {
        "killed": {"commit": "bbb", **killed, "tries": []},
        "frozen": {"commit": "aaa", **killed},
    }


def test_what_was_not_kept_is_not_hidden() -> None:
    outcome = results("run 2 has another curve")
    assert "| **1 of 2** equal to the bit; " in faults_table(outcome)
    assert "; run 2 has another curve | it goes on |" in faults_table(outcome)
    assert broken_promises(outcome) == ["killed: run 2 has another curve"]


def test_the_page_shows_the_table_of_the_kept_results() -> None:
    """Run `make faults FAULTS_FLAGS=--publish` after a change."""
    stored_results = json.loads(KEPT.read_text(encoding="utf-8"))
    assert tuple(stored_results["faults"]) == FAULTS
    assert all(len(each["tries"]) >= 10 for each in stored_results["faults"].values())
    page = Path(ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert f"{MARKS[0]}\n{faults_table(stored_results)}\n{MARKS[1]}" in page
