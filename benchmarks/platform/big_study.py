"""Asks every page and GET route of a study with 10,000 runs, alone and by 20 people at once, of a real web server.

python -m benchmarks.platform.big_study                 some minutes; on 127.0.0.1 only
python -m benchmarks.platform.big_study --runs 500      does every address still answer?

Runs are launched, their numbers filled in by SQL. Prints a table of 95th percentiles, and the web server's memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from benchmarks.platform.servers import start_servers

ADDRESSES = (
    "/healthz",
    "/",
    "/studies",
    "/studies/{study}",
    "/studies/{study}/runs?page=150",
    "/studies/{study}/figure",
    "/studies/{study}/displays",
    "/studies/{study}/deletion",
    "/studies/{study}/study.yaml",
    "/studies/{study}/portrait",
    "/studies/new?from={study}",
    "/compare?study={study}",
    "/leaderboard",
    "/queue",
    "/workers",
    "/runs/{run}",
    "/api/v1/studies",
    "/api/v1/studies/{study}",
    "/api/v1/studies/{study}/summary",
    "/api/v1/studies/{study}/summary?by=strategy&rounds=10,20,50",
    "/api/v1/runs?study={study}",
    "/api/v1/runs?study={study}&state=done&limit=200",
    "/api/v1/runs/{run}",
    "/api/v1/runs/{run}/metrics",
    "/api/v1/runs/{run}/clients",
    "/api/v1/runs/{run}/partition",
    "/api/v1/leaderboard?dataset=digits",
)
ALONE, TOGETHER = 5, 2
"""Times that each address is asked by one person, and by each of many."""
ALONE_LIMIT, TOGETHER_LIMIT, MEMORY_LIMIT = 0.5, 1.5, 500
SEEDS_EACH = 400
ROUNDS = 50
ROWS = """
    SELECT r.id, t.round, v.name, v.value
    FROM experiments_run r
    CROSS JOIN generate_series(0, %(rounds)s) AS t(round)
    CROSS JOIN LATERAL (SELECT 0.6 + 0.35 * ((r.id / 25 * 37) %% 97) / 97.0 AS top, random() AS noise) AS own
    CROSS JOIN LATERAL (VALUES
        ('accuracy', top * (1 - exp(-t.round / 15.0)) + 0.02 * noise),
        ('loss', 2.3 * exp(-t.round / 20.0) + 0.1 * noise),
        ('bytes_up', 31400.0 * (t.round > 0)::int), ('bytes_down', 31400.0 * (t.round > 0)::int),
        ('seconds', 0.02 + 0.01 * noise)
    ) AS v(name, value)
"""


@dataclass(frozen=True)
class Measure:
    address: str
    status: int
    alone: float
    together: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.platform.big_study", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--people", type=int, default=20)
    options = parser.parse_args(arguments)
    with start_servers(TRIBUTARY_RATE_READS="0"):
        study, run, cookie = fill_lab(options.runs)
        with start_web() as (base, process), watch_memory(process.pid) as memory:
            measures = [measure(base, each.format(study=study, run=run), cookie, options.people) for each in ADDRESSES]
    print_table(measures, max(memory))
    return 0


def fill_lab(runs: int) -> tuple[int, int, str]:
    """The study, one of its runs, and the session of somebody who is logged in."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client

    from benchmarks.compare.lab import BLOCK
    from experiments.models import Run, User
    from experiments.results.services.curves import insert_from_rows
    from experiments.studies.services.launch import study_launch

    reader = User.objects.create(username="reader")
    block = {**BLOCK, "rounds": ROUNDS, "seeds": max(1, runs // SEEDS_EACH)}
    study = study_launch(owner=reader, name="A large study", blocks=[block], requires="gpu")
    with connection.cursor() as cursor:
        cursor.execute(insert_from_rows(ROWS), {"rounds": ROUNDS})
        cursor.execute(
            "UPDATE experiments_run SET state = 'done', rounds_done = %s, started = now() - interval '1 minute',"
            " finished = now()",
            [ROUNDS],
        )
        cursor.execute("VACUUM ANALYZE")
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(reader)
    run = Run.objects.earliest("pk").pk
    connection.close()
    return study.pk, run, f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


@contextmanager
def start_web(*, supervised: bool = False) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """One web process, or `manage.py web` with as many as WEB_PROCESSES says."""
    from config.env import ROOT
    from config.processes import child_environment, web_command
    from config.services.server import port_of, reserve_port
    from config.up import web_answers

    with reserve_port() as holder:
        port = port_of(holder)
    base = f"http://127.0.0.1:{port}"
    several = [sys.executable, str(ROOT / "manage.py"), "web"]
    command = several if supervised else web_command("127.0.0.1", port)
    process = subprocess.Popen(command, env=child_environment(HOST="127.0.0.1", PORT=str(port)))
    try:
        while not web_answers(base):
            if process.poll() is not None:
                raise RuntimeError("The web server did not start.")
            time.sleep(0.1)
        yield base, process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def watch_memory(pid: int) -> Iterator[list[float]]:
    """Resident megabytes of the server and all it starts, looked at four times a second."""
    import psutil

    seen, stop, server = [0.0], Event(), psutil.Process(pid)

    def watch() -> None:
        while not stop.wait(0.25):
            seen.append(sum(each.memory_info().rss for each in (server, *server.children(recursive=True))) / 1e6)

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def measure(base: str, address: str, cookie: str, people: int) -> Measure:
    """The first answer is not counted: a server that has just started has imported nothing yet."""
    forget_connection()  # the server has closed it by now
    status, _ = ask(base, address, cookie)
    alone = [ask(base, address, cookie)[1] for _ in range(ALONE)]
    with ThreadPoolExecutor(people) as pool:
        together = list(pool.map(lambda _: ask(base, address, cookie)[1], range(people * TOGETHER)))
    result = Measure(address, status, percentile(alone), percentile(together))
    print(f"{result.alone:8.3f} {result.together:8.3f} {status} {address}", flush=True)
    return result


own_connection = threading.local()


def forget_connection() -> None:
    own_connection.base = None


def ask(base: str, address: str, cookie: str) -> tuple[int, float]:
    """Over a connection that each person keeps, and with as little work as can be: both share the machine."""
    if getattr(own_connection, "base", None) != base:
        own_connection.base = base
        own_connection.http = HTTPConnection(urlsplit(base).netloc, timeout=120)
    begun = time.perf_counter()
    own_connection.http.request("GET", address, headers={"Cookie": cookie})
    answer = own_connection.http.getresponse()
    answer.read()
    return answer.status, time.perf_counter() - begun


def percentile(seconds: Sequence[float]) -> float:
    return sorted(seconds)[min(len(seconds) - 1, round(0.95 * (len(seconds) - 1)))]


def print_table(measures: Sequence[Measure], memory: float) -> None:
    print("\n| address | alone | by 20 at once |\n| --- | ---: | ---: |")
    for each in measures:
        marks: list[Any] = [each.alone > ALONE_LIMIT, each.together > TOGETHER_LIMIT]
        alone, together = (
            f"**{value:.2f} s**" if over else f"{value:.2f} s"
            for value, over in zip((each.alone, each.together), marks, strict=True)
        )
        print(f"| `{each.address}` | {alone} | {together} |")
    print(f"\nPeak memory of the web server: {memory:,.0f} MB (limit {MEMORY_LIMIT} MB)")


if __name__ == "__main__":
    sys.exit(main())
