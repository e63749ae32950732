"""A server that goes away in the middle of a script's calls, and comes back: whatever was logged arrives, once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import tributary

STUDY = "Through an outage"
METRIC = "accuracy"
PATIENCE_SECONDS = 60.0


def value_of(number: int, calls: int) -> float:
    return number / calls


def log_through_outage(
    lab: tributary.Connection, *, calls: int, seconds: float, stop: Callable[[], None], start: Callable[[], None]
) -> int:
    """The run's number. The server is away while the middle third is logged, `seconds` long."""
    run = tributary.init(STUDY, lab=lab, script="loop.py")
    first, last = calls // 3, 2 * calls // 3
    for number in range(calls):
        if number == first:
            wait_until(lambda: run.file.sent > 0)
            stop()
        if number == last:
            start()
        if first <= number < last:
            time.sleep(seconds / (last - first))
        run.log({METRIC: value_of(number, calls)}, round=number)
    run.finish()
    if run.id is None or run.file.path.exists():
        raise AssertionError("The lab has not heard all of the run.")
    return run.id


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError("Nothing arrived before the outage.")
        time.sleep(0.05)


def lost_or_doubled(run: int, calls: int) -> list[str]:
    """What is in the database beside what was logged; empty where each value is there once."""
    from experiments.models import Metric, Round, Run

    stored = list(Metric.objects.filter(run_id=run).values_list("round", "name", "value"))
    expected = {(number, METRIC, value_of(number, calls)) for number in range(calls)}
    rounds = Round.objects.filter(run_id=run).count()
    problems = [f"{place}: {count} times" for place, count in Counter(row[:2] for row in stored).items() if count > 1]
    problems += [f"lost: {row}" for row in sorted(expected - set(stored))]
    problems += [f"never logged: {row}" for row in sorted(set(stored) - expected)]
    if rounds != calls:
        problems.append(f"{rounds} rounds instead of {calls}")
    if (state := Run.objects.get(pk=run).state) != "done":
        problems.append(f"the run is {state}")
    return problems
