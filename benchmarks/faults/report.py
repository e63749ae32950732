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


def table(results: Mapping[str, Any]) -> str:
    rows = [row(found) for found in results["faults"].values()]
    return "\n".join([heading(results), "", HEAD, RULE, *rows])


def heading(results: Mapping[str, Any]) -> str:
    tries = [each for found in results["faults"].values() for each in found["tries"]]
    machine, rounds = results["machine"], sum(each["rounds"] for each in tries)
    kept = sum(not each["problems"] for each in tries)
    return (
        f"{len(tries)} faults at random moments, {rounds:,} rounds of {sum(each['runs'] for each in tries)} runs: "
        f"**{kept} of {len(tries)}** as promised. Lease {results['lease']} s; {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}."
    )


def row(found: Mapping[str, Any]) -> str:
    return f"| {found['title']} | {len(found['tries'])} | {happened(found['tries'])} | {found['promise']} |"


def happened(tries: Sequence[Try]) -> str:
    kept = sum(not each["problems"] for each in tries)
    parts = [f"**{kept} of {len(tries)}** equal to the bit", ends(tries), taken_up(tries)]
    wrong = [each["problems"][0].splitlines()[-1] for each in tries if each["problems"]]
    return "; ".join([part for part in parts if part] + wrong)


def ends(tries: Sequence[Try]) -> str:
    counted = Counter(outcome for each in tries for outcome in each["attempts"])
    return "attempts: " + ", ".join(f"{times} {outcome}" for outcome, times in sorted(counted.items()))


def taken_up(tries: Sequence[Try]) -> str:
    seconds = [each["taken_up_after"] for each in tries if each["taken_up_after"] is not None]
    if not seconds:
        return ""
    return f"taken up again after {statistics.median(seconds):.1f} s (at most {max(seconds):.1f} s)"


def merged(kept: Mapping[str, Any], fresh: Mapping[str, Any]) -> dict[str, Any]:
    """A fault that was tried anew has all its new tries in place of the earlier ones; each tells its commit."""
    faults = {
        name: {"commit": results["machine"].get("commit"), **found}
        for results in (kept, fresh)
        for name, found in results["faults"].items()
    }
    return {**kept, "faults": faults}


def broken(results: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}: {problem}"
        for name, found in results["faults"].items()
        for each in found["tries"]
        for problem in each["problems"]
    ]
