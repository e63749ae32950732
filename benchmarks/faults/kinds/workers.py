"""Faults of workers and of the processes that compute their runs: killed, asked to leave, frozen, cut off."""

from __future__ import annotations

import signal
import subprocess
import time

from config.up import WORKER_GRACE_SECONDS

from benchmarks.faults.lab import FIRST, send_signal
from benchmarks.faults.trial import Fault, MissedError, Trial
from experiments.models import Attempt, Outcome

LEASE_LOST = "This attempt no longer holds the run."
LONGER = 10
"""A worker that is asked to leave is given a moment, in which a short run would come to its end."""


def check_refused(trial: Trial, attempt: Attempt) -> None:
    """Its worker was told so, and its attempt is as it was when it was taken away, checkpoint included."""
    before = Attempt.objects.get(pk=attempt.pk)
    if before.outcome == Outcome.DONE:
        raise MissedError
    name = trial.worker_of(attempt)
    line = f"Run {attempt.run_id}: {LEASE_LOST}"
    trial.wait_for(lambda: line in trial.lab.platform.log(name), f"{name} to learn that it lost its run")
    now = Attempt.objects.get(pk=attempt.pk)
    same = (now.ended, now.outcome, now.checkpoint) == (before.ended, before.outcome, before.checkpoint)
    trial.demand(same, f"the attempt of run {attempt.run_id} was changed after its end")


def kill_runner(trial: Trial) -> None:
    trial.launch()
    attempt = trial.wait_for_random_moment()
    send_signal(trial.lab.runner_pid(trial.worker_of(attempt)), signal.SIGKILL)


RUNNER_KILLED = Fault(
    "runner-killed",
    "`kill -9` of a run's process",
    "the attempt ends as crashed with its signal and last words; the run goes on from its checkpoint; its neighbour "
    "notices nothing",
    kill_runner,
    ("crashed",),
)


def kill_worker(trial: Trial) -> None:
    """Half of the workers come back at once, as under the supervisor; half only when another has taken the run."""
    trial.launch()
    attempt = trial.wait_for_random_moment()
    name = trial.worker_of(attempt)
    trial.lab.kill(name)
    if trial.random.random() < 0.5:
        trial.wait_for(lambda: trial.has_ended(attempt), "the lease to run out")
    trial.lab.start_worker(name)


WORKER_KILLED = Fault(
    "worker-killed",
    "`kill -9` of a whole worker, its children included",
    "the run is taken up by the same worker as soon as it is back, or by another when the lease has run out",
    kill_worker,
    ("lost",),
)


def end_worker(trial: Trial) -> None:
    last_moment = trial.last_moment
    trial.block = {**trial.block, "rounds": LONGER * trial.block["rounds"]}
    trial.launch()
    attempt = trial.wait_for_random_moment(last=last_moment)
    name = trial.worker_of(attempt)
    process = trial.lab.platform.processes.pop(name)
    last_round = last_stored_round(attempt)
    process.terminate()
    try:
        process.wait(WORKER_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        trial.problems.append(f"{name} did not leave within {WORKER_GRACE_SECONDS:g} seconds")
        process.kill()
        process.wait()
    check_saved(trial, Attempt.objects.get(pk=attempt.pk), last_round)
    trial.lab.start_worker(name)


def last_stored_round(attempt: Attempt) -> int:
    return max([0, *attempt.run.rounds.values_list("round", flat=True)])


def check_saved(trial: Trial, attempt: Attempt, last_round: int) -> None:
    """What was told before is in the checkpoint: none of it is computed again."""
    trial.demand(attempt.ended is not None, f"{attempt.worker} left without giving up its run")
    saved = attempt.checkpoint_round or 0
    trial.demand(
        attempt.outcome == Outcome.DONE or saved >= last_round, f"round {last_round} was told, but only {saved} saved"
    )


WORKER_LEAVES = Fault(
    "worker-leaves",
    "SIGTERM to a worker",
    "it saves the run where it is, hands it back and leaves within its grace time of 20 s; no round is computed twice",
    end_worker,
    ("released",),
)


def freeze_worker(trial: Trial) -> None:
    """The worker, or the worker and its run's process, stand still until the lease has gone to another."""
    trial.launch()
    attempt = trial.wait_for_random_moment()
    name = trial.worker_of(attempt)
    frozen: list[int | None] = [trial.lab.process(name).pid]
    if trial.random.random() < 0.5:
        frozen.append(trial.lab.runner_pid(name))
    for pid in frozen:
        send_signal(pid, signal.SIGSTOP)
    try:
        trial.wait_for(lambda: trial.has_ended(attempt), "a frozen worker's run to be taken away")
        time.sleep(trial.random.uniform(0, 2.0))
    finally:
        for pid in frozen:
            send_signal(pid, signal.SIGCONT)
    check_refused(trial, attempt)


WORKER_FROZEN = Fault(
    "worker-frozen",
    "a worker frozen (SIGSTOP) until its lease has gone to another",
    "the other goes on from the last checkpoint; rows and checkpoints of the one that wakes up are refused",
    freeze_worker,
    ("lost",),
)


def cut_off_worker(trial: Trial) -> None:
    """It computes on behind the cut cable; what it wrote arrives when its run is another's."""
    trial.launch()
    attempt = trial.wait_for_random_moment(FIRST)
    trial.lab.cable.cut()
    try:
        trial.wait_for(lambda: trial.has_ended(attempt), "a cut-off worker's run to be taken away")
        time.sleep(trial.random.uniform(0, 2.0))
    finally:
        trial.lab.cable.heal()
    check_refused(trial, attempt)


WORKER_CUT_OFF = Fault(
    "worker-cut-off",
    "a worker cut off from PostgreSQL until its lease has gone to another, then connected again",
    "as before: what it computed meanwhile and what was on its way is refused, row by row",
    cut_off_worker,
    ("lost",),
)
