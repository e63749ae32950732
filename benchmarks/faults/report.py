"""The results as a table: pure functions from results to Markdown."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

MARKS = ("<!-- faults: written by `make faults` -->", "<!-- /faults -->")
HEAD = "| fault | tried | what happened | what is promised |"
RULE = "| --- | ---: | --- | --- |"
Try = Mapping[str, Any]


def faults_table(results: Mapping[str, Any]) -> str:
    rows = [fault_row(fault) for fault in results["faults"].values()]
    return "\n".join([faults_heading(results), "", HEAD, RULE, *rows])


def faults_heading(results: Mapping[str, Any]) -> str:
    tries = [each for fault in results["faults"].values() for each in fault["tries"]]
    machine, rounds = results["machine"], sum(each["rounds"] for each in tries)
    promised = sum(not each["problems"] for each in tries)
    return (
        f"{len(tries)} faults at random moments, {rounds:,} rounds of {sum(each['runs'] for each in tries)} runs: "
        f"**{promised} of {len(tries)}** as promised. Lease {results['lease']} s; {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}."
    )


def fault_row(fault: Mapping[str, Any]) -> str:
    return f"| {fault['title']} | {len(fault['tries'])} | {outcome_text(fault['tries'])} | {fault['promise']} |"


def outcome_text(tries: Sequence[Try]) -> str:
    promised = sum(not each["problems"] for each in tries)
    parts = [f"**{promised} of {len(tries)}** equal to the bit", attempts_text(tries), resumed_text(tries)]
    wrong = [each["problems"][0].splitlines()[-1] for each in tries if each["problems"]]
    return "; ".join([part for part in parts if part] + wrong)


def attempts_text(tries: Sequence[Try]) -> str:
    outcomes = Counter(outcome for each in tries for outcome in each["attempts"])
    return "attempts: " + ", ".join(f"{times} {outcome}" for outcome, times in sorted(outcomes.items()))


def resumed_text(tries: Sequence[Try]) -> str:
    seconds = [each["taken_up_after"] for each in tries if each["taken_up_after"] is not None]
    if not seconds:
        return ""
    return f"taken up again after {statistics.median(seconds):.1f} s (at most {max(seconds):.1f} s)"


def merge_results(earlier: Mapping[str, Any], fresh: Mapping[str, Any]) -> dict[str, Any]:
    """A fault that was tried anew has all its new tries in place of the earlier ones; each tells its commit."""
    faults = {
        name: {"commit": results["machine"].get("commit"), **fault}
        for results in (earlier, fresh)
        for name, fault in results["faults"].items()
    }
    return {**earlier, "faults": faults}


def broken_promises(results: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}: {problem}"
        for name, fault in results["faults"].items()
        for each in fault["tries"]
        for problem in each["problems"]
    ]
