"""Times pages while many follow two fast runs, on 127.0.0.1: browsers, which hear of the latest round, and programs,
which hear of every one.

python -m benchmarks.readers               a minute and a half; writes benchmarks/results/latest/
python -m benchmarks.readers --quick       few readers: does it still work?
python -m benchmarks.readers --publish     on a quiet machine: writes benchmarks/results/
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.platform.report import machine_line
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, benchmark_parser, store_results

TARGET_SECONDS = 0.5
METRICS = ("accuracy", "loss", "f1", "train_loss", "bytes_up", "bytes_down", "seconds", "seconds_train")


@dataclass(frozen=True)
class Load:
    readers: int = 200
    seconds: float = 25.0
    commits: float = 4.0
    """A second, of each run: as often as workers write."""
    rounds: int = 25
    """In each of them."""


QUICK = Load(readers=5, seconds=3.0)
SCENARIOS = {
    "nobody reads": "",
    "browsers": "/api/v1/events?latest=1&study={study}",
    "programs": "/api/v1/events?study={study}",
}


def measure_readers(load: Load) -> dict[str, Any]:
    from benchmarks.export.measures import start_web
    from experiments.access.services.tokens import token_create
    from experiments.models import User

    owner = User.objects.create(username="researcher")
    _, secret = token_create(owner=owner, name="benchmark")
    cookie = log_in(owner)
    results = {}
    with start_web() as (port, _):
        for name, path in SCENARIOS.items():
            study, claims = launch_runs(owner, name)
            with keep_reading(port, secret, path.format(study=study), load) as heard, keep_writing(claims, load):
                pages = ["/", f"/studies/{study}"]
                time_pages(port, cookie, pages, min(5.0, load.seconds))
                seconds = time_pages(port, cookie, pages, load.seconds)
            results[name] = {
                "pages": len(seconds),
                "p50": statistics.median(seconds),
                "p95": statistics.quantiles(seconds, n=20)[-1],
                "worst": max(seconds),
                **heard,
            }
    return {"readers": load.readers, "rounds_per_second": 2 * load.commits * load.rounds, "scenarios": results}


def log_in(owner: Any) -> str:
    from django.test import Client

    client = Client()
    client.force_login(owner)
    return f"sessionid={client.cookies['sessionid'].value}"


def launch_runs(owner: Any, name: str) -> tuple[int, list[Any]]:
    """A study of two runs, both claimed."""
    from experiments.queue.services.claim import run_claim
    from experiments.queue.services.workers import worker_enlist
    from experiments.studies.services.launch import study_launch

    parts = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}}
    block = {**parts, "partition": {"name": "iid"}, "rounds": 100_000, "seeds": 2}
    study = study_launch(owner=owner, name=name, blocks=[block], reuse=False)
    workers = [worker_enlist(name=f"{name}-{each}@bench", host="bench", device="cpu", threads=1) for each in (1, 2)]
    return study.pk, [run_claim(worker=worker) for worker in workers]


@contextmanager
def keep_writing(claims: Sequence[Any], load: Load) -> Iterator[None]:
    """Rounds of all claims, as a worker commits those of a fast run."""
    from django.db import connection

    from experiments.queue.services.leases import rounds_record
    from workers.engine.records import RoundRecord

    ended = Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            begun = time.monotonic()
            records = [
                RoundRecord(each, dict.fromkeys(METRICS, each / 1e6)) for each in range(number, number + load.rounds)
            ]
            for claim in claims:
                rounds_record(claim=claim, records=records)
            number += load.rounds
            ended.wait(max(0.0, begun + 1 / load.commits - time.monotonic()))
        connection.close()

    thread = Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def keep_reading(port: int, secret: str, path: str, load: Load) -> Iterator[dict[str, Any]]:
    """So many streams, read by a process of their own; afterwards, what they heard."""
    heard: dict[str, Any] = {"events": 0}
    if not path:
        yield heard
        return
    order = {"port": port, "secret": secret, "path": path, "readers": load.readers}
    command = [sys.executable, "-m", "benchmarks.readers", "--read", json.dumps(order)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        try:
            yield heard
        finally:
            process.stdin.close()
            heard.update(json.loads(process.stdout.read()))


async def read_streams(port: int, secret: str, path: str, readers: int) -> None:
    """Until standard input ends; prints a line once all streams are open, and then what they heard."""
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {secret}\r\n\r\n".encode()
    counts = {"events": 0, "bytes": 0, "ended": 0}
    opened = asyncio.Semaphore(8)

    async def read() -> None:
        async with opened:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head)
            await reader.readuntil(b"event: hello")
        streams.append(asyncio.create_task(follow(reader, writer)))

    async def follow(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        while part := await reader.read(1 << 16):
            counts["events"] += part.count(b"event: ")
            counts["bytes"] += len(part)
        counts["ended"] += 1

    streams: list[asyncio.Task[None]] = []
    await asyncio.gather(*(read() for _ in range(readers)))
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps(counts), flush=True)
    for stream in streams:
        stream.cancel()


def time_pages(port: int, cookie: str, paths: Sequence[str], seconds: float) -> list[float]:
    from benchmarks.export.measures import download

    times: list[float] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for path in paths:
            begun = time.perf_counter()
            download(port, path, {"Cookie": cookie})
            times.append(time.perf_counter() - begun)
            time.sleep(0.1)
    return times


def readers_table(results: Mapping[str, Any]) -> str:
    head = "| who reads | page p50 | p95 | worst | events heard |\n| --- | ---: | ---: | ---: | ---: |"
    rows = [
        f"| {name} | {each['p50']:.2f} s | **{each['p95']:.2f} s** | {each['worst']:.2f} s | {each['events']:,} |"
        for name, each in results["scenarios"].items()
    ]
    load = (
        f"{results['readers']} readers of two runs with {results['rounds_per_second']:.0f} rounds a second; the target "
        f"for p95 is {TARGET_SECONDS} s."
    )
    return "\n".join([machine_line(results["machine"]), "", load, "", head, *rows])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = benchmark_parser("benchmarks.readers", __doc__)
    parser.add_argument("--read", default="", help="what its own reading process is told")
    options = parser.parse_args(arguments)
    if options.read:
        asyncio.run(read_streams(**json.loads(options.read)))
        return 0
    machine = describe_machine(publish=options.publish)
    with start_servers(TRIBUTARY_RATE_READS="0"):
        results = {"machine": machine, **measure_readers(QUICK if options.quick else Load())}
    text = readers_table(results)
    print(f"\n{text}\n")
    if not options.quick:
        store_results("readers", results, text, publish=options.publish)
    return 0


if __name__ == "__main__":
    sys.exit(main())
