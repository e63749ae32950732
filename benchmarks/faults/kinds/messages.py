"""Faults of messages and claims: delivered twice, or raced for by two workers."""

from __future__ import annotations

import re
from collections import Counter
from threading import Barrier, Thread

import redis

from benchmarks.faults.lab import WORKERS
from benchmarks.faults.trial import Fault, Trial
from experiments.models import Device
from experiments.queue.services.wake_up import send_wake_ups

RECEIVED = re.compile(r"Task workers\.queue\.task\.work\[([0-9a-f-]+)\] received")
END_COMMAND = "ECHO no-more"
SENDERS, WAKE_UPS = 3, 5


def deliver_messages_twice(trial: Trial) -> None:
    log_text = trial.lab.follow_logs()
    copier = Thread(target=copy_messages, args=[trial.lab.redis.url], daemon=True)
    copier.start()
    trial.launch(3)
    trial.strike_at(trial.wait_for(trial.running_attempt))
    trial.wait_until_finished()
    with redis.Redis.from_url(trial.lab.redis.url) as client:
        client.execute_command(*END_COMMAND.split())
    copier.join()
    trial.wait_for(lambda: 2 in Counter(RECEIVED.findall(log_text())).values(), "a message to arrive twice")


def copy_messages(url: str) -> None:
    """Whatever anybody puts into the queue is put there again, byte for byte."""
    copies: Counter[str] = Counter()
    with redis.Redis.from_url(url) as client, client.monitor() as monitor:
        for event in monitor.listen():
            command = event["command"]
            if command == END_COMMAND:
                return
            message = command.removeprefix("LPUSH cpu ")
            if copies[message]:
                copies[message] -= 1
            elif message != command:
                copies[message] += 1
                client.lpush("cpu", message)


MESSAGES_TWICE = Fault(
    "messages-twice",
    "every Celery message delivered twice",
    "no run is computed twice: a message is only a bell, and its second reader finds nothing to claim",
    deliver_messages_twice,
    ("done",),
)


def let_workers_race(trial: Trial) -> None:
    """One run, two idle workers, and a storm of wake-ups at the moment of its launch."""
    logs = [trial.lab.follow_logs(name) for name in WORKERS]
    together = Barrier(SENDERS + 1)
    senders = [Thread(target=send_many_wake_ups, args=[together]) for _ in range(SENDERS)]
    for each in senders:
        each.start()
    together.wait()
    trial.launch(1)
    trial.strike_at(trial.wait_for(trial.running_attempt))
    for each in senders:
        each.join()
    trial.wait_until_finished()
    trial.wait_for(lambda: all(" received" in log_text() for log_text in logs), "both workers to be woken up")


def send_many_wake_ups(together: Barrier) -> None:
    together.wait()
    for _ in range(WAKE_UPS):
        send_wake_ups([Device.CPU])


TWO_WORKERS_RACE = Fault(
    "two-workers-race",
    "two workers race for one run",
    "one gets it: its row is locked while it is claimed",
    let_workers_race,
    ("done",),
)
