"""Times home, the table of studies and the leaderboard in a lab of sixty studies, and with one of 10,000 runs beside.

python -m benchmarks.home              server time of every page; writes benchmarks/results/latest/
python -m benchmarks.home --quick      sixty studies, every page once: does it still work?
python -m benchmarks.home --publish    on a quiet machine: writes benchmarks/results/
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benchmarks.machine import describe_machine
from benchmarks.pages import log_in, measure_page, start_lab
from benchmarks.publish import benchmark_parser, store_results

REPEATS = 9
LIMIT = 200.0
SIXTY, WITH_BIG = "60 studies", "and one of 10,000 runs"
PAGES = {
    "home": "/",
    "studies": "/studies",
    "studies by best accuracy": "/studies?sort=-best",
    "leaderboard of digits": "/leaderboard?dataset=digits",
    "leaderboard of UCI HAR": "/leaderboard?dataset=uci-har",
    "REST: leaderboard of digits": "/api/v1/leaderboard?dataset=digits",
}

Results = dict[str, dict[str, float]]


def measure_lab(*, quick: bool) -> Results:
    from benchmarks.compare.lab import finish_runs, wide_study
    from benchmarks.home.lab import sixty_studies

    owner, *_ = sixty_studies()
    repeats = 1 if quick else REPEATS
    results = {SIXTY: measure_pages(owner.username, repeats)}
    if not quick:
        finish_runs(wide_study(owner))
        results[WITH_BIG] = measure_pages(owner.username, repeats)
    return results


def measure_pages(person: str, repeats: int) -> dict[str, float]:
    client = log_in(person)
    return {title: measure_page(client, address, repeats) for title, address in PAGES.items()}


def home_table(results: Results) -> str:
    head = f"| page, limit {LIMIT:g} ms | {' | '.join(results)} |\n| --- |{' ---: |' * len(results)}"
    rows = [f"| {title} | {' | '.join(f'{each[title]:.0f} ms' for each in results.values())} |" for title in PAGES]
    return "\n".join([head, *rows])


def missed_limits(results: Results) -> Iterator[str]:
    for lab, durations in results.items():
        yield from (f"{lab}, {title}: {value:.0f} ms" for title, value in durations.items() if value >= LIMIT)


def main(arguments: Sequence[str] | None = None) -> int:
    options = benchmark_parser("benchmarks.home", __doc__).parse_args(arguments)
    machine = describe_machine(publish=options.publish)
    with start_lab():
        results = measure_lab(quick=options.quick)
    line = f"Measured on {machine['cpu']}, {machine['cores']} cores; others used {machine['busy_before']:.0%} of them."
    text = f"{line}\n\n{home_table(results)}"
    print(text)
    for line in missed_limits(results):
        print(f"over its limit: {line}")
    if not options.quick:
        store_results("home", {"machine": machine, "pages": results}, text, publish=options.publish)
    return 0


if __name__ == "__main__":
    sys.exit(main())
