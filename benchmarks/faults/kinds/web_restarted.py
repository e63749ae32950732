from __future__ import annotations

import time

from benchmarks.faults.check import curve_of, reference
from benchmarks.faults.fault import Fault
from benchmarks.faults.reader import Reader
from benchmarks.faults.trial import Trial

LONGEST_SECONDS = 2.0


def strike(trial: Trial) -> None:
    """Once or twice, in order or with `kill -9`, while a program reads the stream as a browser does."""
    platform = trial.lab.platform
    with Reader(platform.base_url, trial.lab.owner) as reader:
        study = trial.launch()
        trial.somewhere()
        for _ in range(trial.random.randint(1, 2)):
            trial.lab.kill("web") if trial.random.random() < 0.5 else platform.stop("web")
            time.sleep(trial.random.uniform(0, LONGEST_SECONDS))
            platform.start_web()
        trial.finish()
        ends = {run.pk: run.rounds_total for run in study.runs.all()}
        trial.wait_for(lambda: reader.has(ends), "the stream to tell the last rounds")
    for run in study.runs.all():
        told = [number for number, _ in reader.rounds[run.pk]]
        trial.demand(told == list(range(run.rounds_total + 1)), f"the stream of run {run.pk} told the rounds {told}")
        expected = {key: value for key, value in curve_of(reference(run).history).items() if "." not in key[1]}
        trial.demand(reader.curve(run.pk) == expected, f"the stream of run {run.pk} told another curve")
    trial.demand(reader.connections > 1, "the stream was never interrupted")


FAULT = Fault(
    "web-restarted",
    "the web server stopped or killed, once or twice, while a program reads the live stream",
    "runs notice nothing; the reader comes back with its Last-Event-ID and has every round once, in order",
    strike,
    ("done",),
)
