"""20 people read and 8 workers write in a lab that is full: 10,000 runs in one study, 1,000 studies.

make load                                   about half an hour; writes benchmarks/results/latest/
make load LOAD_FLAGS="--minutes 30"         the second part for so long: does memory stay flat?
make load LOAD_FLAGS=--quick                small numbers: does everything still work?
make load LOAD_FLAGS=--publish              on a quiet machine: writes benchmarks/results/ and docs/scale.md

Everything runs on this machine (127.0.0.1), in a home that is gone afterwards. Workers are real but for the computing:
they claim, hold leases, write rounds and finish runs by the agents of hosts with up to 16 of them.
"""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.load.report import MARKS, load_table, missed_targets
from benchmarks.machine import describe_machine
from benchmarks.platform.big_study import ask, percentile, start_web, watch_memory
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, benchmark_parser, keep_results

PAGE = ROOT / "docs" / "scale.md"
ADDRESSES = (
    "/",
    "/studies",
    "/studies/{study}",
    "/studies/{study}/runs?page=20",
    "/studies/{small}",
    "/studies/{small}/figure",
    "/compare?study={small}",
    "/leaderboard",
    "/queue",
    "/workers",
    "/runs/{run}",
    "/api/v1/studies",
    "/api/v1/studies/{study}/summary",
    "/api/v1/runs?study={study}&limit=50",
    "/api/v1/runs/{run}/metrics",
)
THINKING_SECONDS = (1.0, 4.0)
"""Between two pages of a person, at random."""
COMMITS_PER_SECOND = 4.0
"""Of a worker whose rounds are fast: it writes what is ready together."""
START_SECONDS = 30.0
ROUNDS_OF_A_RUN = 500
WORKERS_OF_A_HOST = 16
AGENTS = "load-agents"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = benchmark_parser("benchmarks.load", __doc__)
    parser.add_argument("--minutes", type=float, help="how long people read and workers write (5)")
    parser.add_argument("--workers", type=int, help="simulated workers (8)")
    parser.add_argument("--rounds", type=float, help="rounds a second of each worker (50)")
    parser.add_argument("--write", default="", help="what its own writing process is told")
    options = parser.parse_args(arguments)
    if options.write:
        write_rounds(**json.loads(options.write))
        return 0
    machine = describe_machine(publish=options.publish)
    with start_servers(TRIBUTARY_RATE_READS="0"):
        # Django reads its settings from the environment that is set by now.
        from benchmarks.load.lab import QUICK, Size

        size = QUICK if options.quick else Size()
        size = replace(size, seconds=options.minutes * 60) if options.minutes else size
        size = replace(size, workers=options.workers) if options.workers else size
        size = replace(size, rounds_per_second=options.rounds) if options.rounds else size
        results = {"machine": machine, **measure_load(size)}
    text = load_table(results)
    print(f"\n{text}\n")
    for line in missed_targets(results):
        print(f"missed: {line}")
    if not options.quick:
        keep_results("load", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


def measure_load(size: Any) -> dict[str, Any]:
    from django.db import connection

    from benchmarks.load.lab import bytes_a_value, fill_lab
    from experiments.models import Run, Study

    begun = time.monotonic()
    people, large = fill_lab(size)
    filled = time.monotonic() - begun
    run, small = Run.objects.earliest("pk").pk, Study.objects.latest("pk").pk
    cookies = [session_cookie(person) for person in people]
    launch_work(people, size)
    value_bytes = bytes_a_value(size.values)
    connection.close()
    addresses = [each.format(study=large.pk, small=small, run=run) for each in ADDRESSES]
    with start_web() as (base, process), watch_memory(process.pid) as memory:
        for address in addresses:
            ask(base, address, cookies[0])
        first = len(memory)
        with keep_writing(size) as written:
            answers = read_as_people(base, addresses, cookies, size.seconds)
        used = memory[first:]
    return {
        "runs": size.runs,
        "studies": size.studies,
        "values": size.values,
        "fill_seconds": filled,
        "bytes_a_value": value_bytes,
        "seconds": size.seconds,
        "people": len(people),
        "workers": size.workers,
        "rounds_per_second": size.rounds_per_second,
        "written": written,
        "memory": {"at_first": mean_of(used[: len(used) // 10]), "at_last": mean_of(used[-len(used) // 10 :])},
        "addresses": {pattern: answers[address] for pattern, address in zip(ADDRESSES, addresses, strict=True)},
    }


def session_cookie(person: Any) -> str:
    from django.conf import settings
    from django.test import Client

    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(person)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def launch_work(people: Sequence[Any], size: Any) -> None:
    """Enough runs for all workers until the end, of two people, so that there is a share to be fair about."""
    from benchmarks.load.lab import BLOCK
    from experiments.studies.services.launch import study_launch

    needed = size.workers * size.seconds * size.rounds_per_second / ROUNDS_OF_A_RUN
    single = {**BLOCK, "strategy": {"name": "fedavg"}, "partition": {"name": "iid"}, "rounds": ROUNDS_OF_A_RUN}
    for number, person in enumerate(people[:2]):
        seeds = [number * 100_000 + each for each in range(max(4, int(needed) + size.workers))]
        study_launch(owner=person, name=f"At work {number}", blocks=[{**single, "seeds": seeds}], reuse=False)


def mean_of(megabytes: Sequence[float]) -> float:
    return statistics.mean(megabytes) if megabytes else 0.0


def read_as_people(
    base: str, addresses: Sequence[str], cookies: Sequence[str], seconds: float
) -> dict[str, dict[str, Any]]:
    times: dict[str, list[float]] = defaultdict(list)
    errors: dict[str, int] = defaultdict(int)
    deadline = time.monotonic() + seconds

    def read(person: int) -> None:
        choice = random.Random(person)
        while (thought := time.monotonic() + choice.uniform(*THINKING_SECONDS)) < deadline:
            time.sleep(max(0.0, thought - time.monotonic()))
            address = choice.choice(addresses)
            status, duration = ask(base, address, cookies[person])
            times[address].append(duration)
            errors[address] += status != 200

    with ThreadPoolExecutor(len(cookies)) as pool:
        list(pool.map(read, range(len(cookies))))
    return {
        each: {
            "answers": len(times[each]),
            "p50": statistics.median(times[each]) if times[each] else None,
            "p95": percentile(times[each]) if times[each] else None,
            "errors": errors[each],
        }
        for each in addresses
    }


@contextmanager
def keep_writing(size: Any) -> Iterator[dict[str, Any]]:
    """The workers' process; afterwards, what they did."""
    written: dict[str, Any] = {}
    order = {"workers": size.workers, "rounds_per_second": size.rounds_per_second}
    command = [sys.executable, "-m", "benchmarks.load", "--write", json.dumps(order)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        try:
            yield written
        finally:
            process.stdin.close()
            written.update(json.loads(process.stdout.read()))


def write_rounds(workers: int, rounds_per_second: float) -> None:
    """Until standard input ends; prints a line once all work, and then what they did."""
    sys.path[:0] = [str(ROOT / "platform")]
    import django

    django.setup()
    ended = threading.Event()
    with contextlib.ExitStack() as hosts:
        addresses = [hosts.enter_context(start_agent()) for _ in range(-(-workers // WORKERS_OF_A_HOST))]
        print(json.dumps(write_by_agents(addresses, workers, rounds_per_second, ended)), flush=True)


@contextlib.contextmanager
def start_agent() -> Iterator[str]:
    """Of one host: a process of its own."""
    from config.agent import agent_folder, takes_calls
    from config.processes import agent_command, child_environment

    with agent_folder() as folder:
        command = agent_command(folder / "socket", WORKERS_OF_A_HOST)
        process = subprocess.Popen(command, env=child_environment(PGAPPNAME=AGENTS))
        try:
            while not takes_calls(folder / "socket"):
                if process.poll() is not None:
                    raise RuntimeError("The agent did not start.")
                time.sleep(0.1)
            yield str(folder / "socket")
        finally:
            process.terminate()
            process.wait()


def write_by_agents(
    addresses: Sequence[str], workers: int, rounds_per_second: float, ended: threading.Event
) -> dict[str, Any]:
    logs: list[dict[str, Any]] = [{"claims": [], "rounds": 0, "runs": {}, "errors": []} for _ in range(workers)]
    spread = min(START_SECONDS, ROUNDS_OF_A_RUN / rounds_per_second)
    threads = []
    for number in range(workers):
        place = (number, addresses[number % len(addresses)], spread * number / workers)
        threads.append(threading.Thread(target=work, args=(*place, rounds_per_second, ended, logs[number])))
    for thread in threads:
        thread.start()
    print("at work", flush=True)
    begun = time.monotonic()
    sys.stdin.read()
    seconds, connections = time.monotonic() - begun, count_connections()
    ended.set()
    for thread in threads:
        thread.join()
    return {**sum_up(logs, seconds), "connections": connections}


def count_connections() -> int:
    """Of all agents."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [AGENTS])
        return int(cursor.fetchone()[0])


def work(
    number: int, address: str, delay: float, rounds_per_second: float, ended: threading.Event, log: dict[str, Any]
) -> None:
    """One worker: claims, writes what is ready together, finishes, claims again.

    The delays spread the workers: their runs are equally long, and would end, and be claimed, all at one moment.
    """
    from experiments.queue.services.claim import run_claim
    from experiments.queue.services.host_agent import AgentClient
    from experiments.queue.services.leases import run_finish, run_release
    from experiments.queue.services.workers import worker_enlist

    agent = AgentClient(address)
    facts = {"name": f"load-{number}", "host": address, "device": "cpu", "threads": 1}
    try:
        worker = agent.perform([partial(worker_enlist, **facts)])[0]
        ended.wait(delay)
        while not ended.is_set():
            begun = time.perf_counter()
            claim = agent.perform([partial(run_claim, worker=worker)])[0]
            log["claims"].append(time.perf_counter() - begun)
            if claim is None:
                ended.wait(0.5)
                continue
            log["runs"][claim.study] = log["runs"].get(claim.study, 0) + 1
            if write_run(agent, claim, rounds_per_second, ended, log):
                agent.perform([partial(run_finish, claim=claim, provenance={}, findings={}, artifact="")])
            else:
                agent.perform([partial(run_release, claim=claim)])
    except Exception as error:
        log["errors"].append(f"{type(error).__name__}: {error}")
    finally:
        agent.close()


def write_run(agent: Any, claim: Any, rounds_per_second: float, ended: threading.Event, log: dict[str, Any]) -> bool:
    """Whether it came to its end."""
    from benchmarks.load.lab import METRICS
    from experiments.queue.services.leases import rounds_record
    from workers.engine.records import RoundRecord

    together = max(1, round(rounds_per_second / COMMITS_PER_SECOND))
    for first in range(0, ROUNDS_OF_A_RUN + 1, together):
        begun = time.monotonic()
        numbers = range(first, min(first + together, ROUNDS_OF_A_RUN + 1))
        records = [RoundRecord(each, dict.fromkeys(METRICS, each / 7)) for each in numbers]
        agent.perform([partial(rounds_record, claim=claim, records=records)])
        log["rounds"] += len(numbers)
        if ended.wait(max(0.0, begun + together / rounds_per_second - time.monotonic())):
            return False
    return True


def sum_up(logs: Sequence[Mapping[str, Any]], seconds: float) -> dict[str, Any]:
    claims = [each for log in logs for each in log["claims"]]
    by_study: dict[str, int] = defaultdict(int)
    for log in logs:
        for study, runs in log["runs"].items():
            by_study[str(study)] += runs
    return {
        "rounds_per_second": sum(log["rounds"] for log in logs) / seconds,
        "claims": len(claims),
        "claim_p95": percentile(claims) if claims else None,
        "runs_by_study": dict(by_study),
        "errors": [each for log in logs for each in log["errors"]],
    }


if __name__ == "__main__":
    sys.exit(main())
