"""Faults of what the platform stands on: Redis, PostgreSQL, the disk, the web server."""

from __future__ import annotations

import signal
import time

import redis
from django.db import connection

from benchmarks.faults.check import history_curve, reference_result
from benchmarks.faults.lab import send_signal
from benchmarks.faults.reader import Reader
from benchmarks.faults.small_disk import small_disk
from benchmarks.faults.trial import Fault, MissedError, Trial
from experiments.models import RunState
from experiments.studies.services.changes import study_retry

# How long they are away at most.
REDIS_AWAY_SECONDS, POSTGRES_AWAY_SECONDS, WEB_AWAY_SECONDS = 4.0, 8.0, 2.0
REFUSED_CHECKPOINT = "could not be written"


def lose_redis(trial: Trial) -> None:
    """Before the launch, so that no worker wakes up, or while the runs go on. It keeps nothing on disk: all is gone."""
    server = trial.lab.redis
    if during := trial.random.random() < 0.5:
        trial.launch()
        trial.wait_for_random_moment()
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
    server.stop()
    if not during:
        trial.launch()
    time.sleep(trial.random.uniform(0, REDIS_AWAY_SECONDS))
    server.launch()


REDIS_LOST = Fault(
    "redis-lost",
    "Redis stopped for up to 4 s, all its data deleted, before a launch or in the middle",
    "runs go on without it; what is launched meanwhile starts when it is back, as PostgreSQL holds the queue",
    lose_redis,
    ("done",),
)


def restart_postgres(trial: Trial) -> None:
    """In order, or at once as after a power cut: then it recovers from its log. Now and then longer than a lease."""
    trial.launch()
    trial.wait_for_random_moment()
    connection.close()
    server = trial.lab.postgres
    if trial.random.random() < 0.5 and server.process is not None:
        send_signal(server.process.pid, signal.SIGQUIT)
        server.process.wait()
    server.stop()
    time.sleep(trial.random.uniform(0, POSTGRES_AWAY_SECONDS))
    server.launch()


POSTGRES_RESTARTED = Fault(
    "postgres-restarted",
    "PostgreSQL stopped (in order, or at once without a checkpoint) for up to 8 s and started again",
    "workers keep computing and write down what waited; nobody loses a run for want of a database",
    restart_postgres,
    ("done",),
)


def fill_disk(trial: Trial) -> None:
    """From a random moment until a checkpoint was tried in vain, and a little longer."""
    log_text = trial.lab.follow_logs()
    disk = trial.cleanup.enter_context(small_disk(trial.lab))
    study = trial.launch()
    attempt = trial.wait_for_random_moment()
    with disk.full(trial.worker_of(attempt)):
        trial.wait_for(
            lambda: trial.has_ended(attempt) or REFUSED_CHECKPOINT in log_text(), "a checkpoint to be refused"
        )
        time.sleep(trial.random.uniform(0, 0.3))
    trial.wait_until_finished()
    if REFUSED_CHECKPOINT not in log_text():
        raise MissedError
    if unsaved := set(study.runs.filter(state=RunState.FAILED).values_list("pk", flat=True)):
        trial.touched |= unsaved
        study_retry(study=study, actor=trial.lab.owner)
        trial.wait_until_finished()


DISK_FULL = Fault(
    "disk-full",
    "the disk full while checkpoints are written",
    "runs go on without a new checkpoint, and say so; one that ends on a full disk fails with that reason, and Retry "
    "takes it up at its last checkpoint; no run begins while there is no room",
    fill_disk,
    ("done", "failed"),
)


def restart_web(trial: Trial) -> None:
    """Once or twice, in order or with `kill -9`, while a program reads the stream as a browser does."""
    platform = trial.lab.platform
    with Reader(platform.base_url, trial.lab.owner) as reader:
        study = trial.launch()
        trial.wait_for_random_moment()
        for _ in range(trial.random.randint(1, 2)):
            trial.lab.kill("web") if trial.random.random() < 0.5 else platform.stop("web")
            time.sleep(trial.random.uniform(0, WEB_AWAY_SECONDS))
            platform.start_web()
        trial.wait_until_finished()
        ends = {run.pk: run.rounds_total for run in study.runs.all()}
        trial.wait_for(lambda: reader.has(ends), "the stream to tell the last rounds")
    if reader.connections < 2:
        # A server that leaves in order tells what it has: the runs were over before the reader was cut off.
        raise MissedError
    for run in study.runs.all():
        rounds = [number for number, _ in reader.rounds[run.pk]]
        trial.demand(
            rounds == list(range(run.rounds_total + 1)), f"the stream of run {run.pk} told the rounds {rounds}"
        )
        expected = {
            key: value for key, value in history_curve(reference_result(run).history).items() if "." not in key[1]
        }
        trial.demand(reader.curve(run.pk) == expected, f"the stream of run {run.pk} told another curve")


WEB_RESTARTED = Fault(
    "web-restarted",
    "the web server stopped or killed, once or twice, while a program reads the live stream",
    "runs notice nothing; the reader comes back with its Last-Event-ID and has every round once, in order",
    restart_web,
    ("done",),
)
