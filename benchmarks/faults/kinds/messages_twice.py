from __future__ import annotations

import re
from collections import Counter
from threading import Thread

import redis

from benchmarks.faults.fault import Fault
from benchmarks.faults.trial import Trial

RECEIVED = re.compile(r"Task workers\.tasks\.work\[([0-9a-f-]+)\] received")
END = "ECHO no-more"


def strike(trial: Trial) -> None:
    heard = trial.lab.ear()
    copier = Thread(target=copy_messages, args=[trial.lab.redis.url], daemon=True)
    copier.start()
    trial.launch(3)
    trial.strike_at(trial.wait_for(trial.at_work))
    trial.finish()
    with redis.Redis.from_url(trial.lab.redis.url) as client:
        client.execute_command(*END.split())
    copier.join()
    trial.wait_for(lambda: 2 in Counter(RECEIVED.findall(heard())).values(), "a message to arrive twice")


def copy_messages(url: str) -> None:
    """Whatever anybody puts into the queue is put there again, byte for byte."""
    own: Counter[str] = Counter()
    with redis.Redis.from_url(url) as client, client.monitor() as monitor:
        for seen in monitor.listen():
            command = seen["command"]
            if command == END:
                return
            message = command.removeprefix("LPUSH cpu ")
            if own[message]:
                own[message] -= 1
            elif message != command:
                own[message] += 1
                client.lpush("cpu", message)


FAULT = Fault(
    "messages-twice",
    "every Celery message delivered twice",
    "no run is computed twice: a message is only a bell, and its second reader finds nothing to claim",
    strike,
    ("done",),
)
