"""500 pages of one study that are open at once while workers write to it: does a page still answer in 300 ms?

python -m benchmarks.load.viewers                          two minutes; on 127.0.0.1 only
python -m benchmarks.load.viewers --pages 50 --seconds 5   does it still work?

Every page holds an event stream, and asks for its part again at the pace that the server names, as a browser does.
WEB_PROCESSES is taken from the environment. Prints what it finds; nothing is written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from benchmarks.load.__main__ import keep_writing, launch_work, session_cookie
from benchmarks.platform.big_study import ask, percentile, start_web, watch_memory
from benchmarks.platform.servers import start_servers

TARGET_SECONDS = 0.3
PROBES_A_SECOND = 2.0
OPENED_A_SECOND = 50.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.load.viewers", description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(arguments)
    with start_servers(TRIBUTARY_RATE_READS="0"):
        print_results(measure_viewers(options.pages, options.seconds))
    return 0


def measure_viewers(pages: int, seconds: float) -> dict[str, Any]:
    from django.db import connection

    from benchmarks.load.lab import QUICK, fill_lab
    from experiments.models import Study

    size = replace(QUICK, runs=200, rounds=50, studies=30, seconds=seconds * 2, rounds_per_second=5.0)
    people, _ = fill_lab(size)
    launch_work(people, size)
    watched = Study.objects.get(name="At work 0").pk
    cookies = [session_cookie(person) for person in people]
    connection.close()
    with (
        start_web(supervised=True) as (base, process),
        watch_memory(process.pid) as memory,
        keep_writing(size) as written,
    ):
        begun, before = time.monotonic(), cpu_seconds(process.pid)
        counts, probes = asyncio.run(watch(base, watched, cookies, pages, seconds))
        cores = (cpu_seconds(process.pid) - before) / (time.monotonic() - begun)
    facts = {"memory": max(memory), "cores": cores, "written": written}
    return {"pages": pages, "counts": counts, "probes": probes, **facts}


def cpu_seconds(pid: int) -> float:
    import psutil

    server = psutil.Process(pid)
    times = [each.cpu_times() for each in (server, *server.children(recursive=True))]
    return sum(each.user + each.system for each in times)


async def watch(
    base: str, study: int, cookies: Sequence[str], pages: int, seconds: float
) -> tuple[Counter[str], dict[str, list[float]]]:
    counts: Counter[str] = Counter()
    viewers = []
    for number in range(pages):
        viewers.append(asyncio.create_task(view(base, study, cookies[number % len(cookies)], counts)))
        await asyncio.sleep(1 / OPENED_A_SECOND)
    addresses = ("/", "/queue", f"/studies/{study}", f"/studies/{study}/figure?metric=accuracy")
    probes: dict[str, list[float]] = {address: [] for address in addresses}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for address, times in probes.items():
            status, duration = await asyncio.to_thread(ask, base, address, cookies[0])
            counts["errors"] += status != 200
            times.append(duration)
            await asyncio.sleep(1 / PROBES_A_SECOND)
    counts["open"] = sum(not each.done() for each in viewers)
    for each in viewers:
        each.cancel()
    await asyncio.gather(*viewers, return_exceptions=True)
    return counts, probes


async def view(base: str, study: int, cookie: str, counts: Counter[str]) -> None:
    """One page: told of rounds as they come, and of the rest by asking for its part."""
    reader, writer = await send(base, f"/api/v1/events?study={study}&latest=1&curves=accuracy", cookie)
    pace, asked, seen = 1.0, 0.0, 0.0
    part: asyncio.Task[float] | None = None
    try:
        while line := await reader.readline():
            if not line.startswith(b"data: "):
                continue
            event: Mapping[str, Any] = json.loads(line[6:])
            pace = event.get("pace", pace)
            counts["events"] += 1
            seen = event.get("at", seen)
            if part is None or part.done():
                pace = part.result() if part else pace
                wait = max(asked + max(1.0, pace) - time.monotonic(), random.random() * pace, 0.0)
                asked = time.monotonic() + wait
                part = asyncio.create_task(ask_for_part(base, study, cookie, wait, seen, counts))
    finally:
        writer.close()


async def ask_for_part(base: str, study: int, cookie: str, wait: float, seen: float, counts: Counter[str]) -> float:
    """The pace that the server names."""
    await asyncio.sleep(wait)
    reader, writer = await send(base, f"/studies/{study}", cookie, "HX-Request: true", f"X-Live-Seen: {seen!r}")
    try:
        answer = await reader.read()
    finally:
        writer.close()
    head = answer.partition(b"\r\n\r\n")[0].decode().lower()
    counts["parts"] += 1
    counts["errors"] += " 200 " not in head.partition("\r\n")[0]
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    return float(fields.get("x-live-pace", 1.0))


async def send(base: str, path: str, cookie: str, *headers: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    place = urlsplit(base)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1 << 22)
    lines = [f"GET {path} HTTP/1.1", f"Host: {place.netloc}", f"Cookie: {cookie}", "Connection: close", *headers]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    with suppress(ConnectionResetError):
        await writer.drain()
    return reader, writer


def print_results(results: Mapping[str, Any]) -> None:
    counts, written = results["counts"], results["written"]
    print(
        f"\n{counts['open']} of {results['pages']} pages stayed open on {os.environ.get('WEB_PROCESSES') or 1} web "
        f"process(es); they heard {counts['events']:,} events and asked for {counts['parts']:,} parts; "
        f"{counts['errors']} errors. Workers wrote {written['rounds_per_second']:.0f} rounds a second. "
        f"The web server had at most {results['memory']:.0f} MB and used {results['cores']:.2f} cores.\n"
    )
    print("| page | answers | p50 | p95 |\n| --- | ---: | ---: | ---: |")
    for address, times in results["probes"].items():
        p95 = percentile(times)
        mark = "" if p95 <= TARGET_SECONDS else f" (target {TARGET_SECONDS * 1000:.0f} ms)"
        print(f"| `{address}` | {len(times)} | {statistics.median(times) * 1000:.0f} ms | {p95 * 1000:.0f} ms{mark} |")


if __name__ == "__main__":
    sys.exit(main())
