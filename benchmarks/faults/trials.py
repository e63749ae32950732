"""Tries a fault until it has struck often enough, and notes what became of each try."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from random import Random
from typing import Any

from benchmarks.faults.check import check_trial
from benchmarks.faults.lab import Lab
from benchmarks.faults.trial import Fault, MissedError, Trial
from experiments.models import Attempt, Outcome, Round

MOST_MISSES = 20


def run_trials(fault: Fault, lab: Lab, block: Mapping[str, Any], times: int, seed: str) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for number in range(times + MOST_MISSES):
        if len(results) == times:
            break
        try:
            results.append(run_trial(fault, Trial(lab, Random(f"{seed} {fault.name} {number}"), block)))
        except MissedError:
            continue
        print(f"{fault.name} {len(results)}: {trial_text(results[-1])}", flush=True)
    lab.use_settings({})
    return results


def run_trial(fault: Fault, trial: Trial) -> dict[str, Any]:
    with trial.cleanup:
        try:
            # The limit on silence is so short here that imports might go over it.
            trial.wait_for(trial.lab.is_idle, "the workers to be ready")
            fault.strike(trial)
            trial.wait_until_finished()
            check_struck(fault, trial)
            check_trial(trial)
        except MissedError:
            raise
        except Exception:
            trial.problems.append(traceback.format_exc())
    return trial_result(trial)


def check_struck(fault: Fault, trial: Trial) -> None:
    if trial.struck is None:
        return
    trial.struck.refresh_from_db()
    if trial.struck.outcome == Outcome.DONE and Outcome.DONE not in fault.ends:
        raise MissedError
    trial.demand(trial.struck.outcome in fault.ends, f"the attempt ended as {trial.struck.outcome}")


def trial_result(trial: Trial) -> dict[str, Any]:
    attempts = list(Attempt.objects.filter(run__studies=trial.study).order_by("pk"))
    return {
        "moment": trial.moment,
        "runs": len({each.run_id for each in attempts}),
        "rounds": Round.objects.filter(run__studies=trial.study).count(),
        "attempts": [each.outcome for each in attempts],
        "reasons": sorted({each.reason.splitlines()[0] for each in attempts if each.reason}),
        "taken_up_after": taken_up_after(trial, attempts),
        "problems": trial.problems,
    }


def taken_up_after(trial: Trial, attempts: list[Attempt]) -> float | None:
    """Seconds from the fault to the next attempt at the run that it struck."""
    if trial.struck is None:
        return None
    next_attempts = [
        each for each in attempts if each.run_id == trial.struck.run_id and each.number > trial.struck.number
    ]
    return round(next_attempts[0].started.timestamp() - trial.struck_at, 2) if next_attempts else None


def trial_text(result: Mapping[str, Any]) -> str:
    return "; ".join(result["problems"]) or f"at {result['moment'] or 'the launch'}, attempts {result['attempts']}"
