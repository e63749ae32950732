"""Times Compare on a lab of 2,000 runs x 100 rounds x 5 metrics, on the embedded PostgreSQL.

python -m benchmarks.compare              server time of every chart and tab; writes benchmarks/results/latest/
python -m benchmarks.compare --paint      also the first paint of 40 lines in Chromium
python -m benchmarks.compare --quick      every view once: does it still work?
python -m benchmarks.compare --publish    on a quiet machine: writes benchmarks/results/

Server time is what a request takes from Django's test client, without the network; the median of several.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benchmarks.machine import describe_machine
from benchmarks.pages import log_in, measure_page, start_lab
from benchmarks.publish import benchmark_parser, store_results

REPEATS = 7
LIMITS = {"2,000 runs": 300.0, "200 runs": 150.0}
TABLE = "a page of a table of 10,000 runs"
TABLE_LIMIT = 150.0
PAINT_LIMIT = 1500.0
QUERIES = {
    "curves": "charts/curves?study={study}",
    "curves over bytes, bootstrap": "charts/curves?study={study}&x=bytes&band=boot",
    "against an axis": "charts/against?study={study}",
    "map over two axes": "charts/map?study={study}&against=partition.alpha&second=strategy",
    "table, last round": "charts/table?study={study}",
    "table, best round": "charts/table?study={study}&value=best",
    "table, MB to target": "charts/table?study={study}&value=bytes&target=60",
    "difference": "charts/difference?study={study}",
    "cost, bytes": "charts/cost-bytes?study={study}",
    "cost, seconds": "charts/cost-seconds?study={study}",
    "clients": "charts/clients?study={study}",
    "page: curves and table": "?study={study}",
    "page: is it better?": "?study={study}&tab=better",
    "page: cost": "?study={study}&tab=cost",
    "page: clients": "?study={study}&tab=clients",
    "page: specs": "?study={study}&tab=specs",
}


def fill_lab() -> dict[str, int]:
    from benchmarks.compare.lab import big_study, small_study, wide_study
    from experiments.models import Role, User

    owner = User.objects.create(username="bench", role=Role.ADMIN)
    return {"2,000 runs": big_study(owner).pk, "200 runs": small_study(owner).pk, TABLE: wide_study(owner).pk}


def measure_views(studies: dict[str, int], repeats: int = REPEATS) -> dict[str, dict[str, float]]:
    client = log_in("bench")
    return {
        name: {
            title: measure_page(client, f"/compare/{address}".replace("/?", "?").format(study=study), repeats)
            for title, address in QUERIES.items()
        }
        for name, study in studies.items()
        if name in LIMITS
    } | {TABLE: {TABLE: measure_page(client, f"/studies/{studies[TABLE]}/runs?page=50", repeats)}}


def compare_table(results: dict[str, dict[str, float]], paint: tuple[float, float] | None) -> str:
    names = list(LIMITS)
    head = [
        f"| {'view'} | {' | '.join(f'{name}, limit {LIMITS[name]:g} ms' for name in names)} |",
        "| --- | ---: | ---: |",
    ]
    rows = [f"| {title} | {' | '.join(f'{results[name][title]:.0f} ms' for name in names)} |" for title in QUERIES]
    last = [f"{TABLE.capitalize()}: **{results[TABLE][TABLE]:.0f} ms** (limit {TABLE_LIMIT:g} ms)."]
    if paint is not None:
        known, new = paint
        last.append(
            f"First paint of 40 lines in Chromium, coming from the study's page: **{known:.0f} ms** (limit "
            f"{PAINT_LIMIT:g} ms); in a browser that has never been here: {new:.0f} ms."
        )
    return "\n".join([*head, *rows, "", "\n\n".join(last)]) + "\n"


def missed_limits(results: dict[str, dict[str, float]], paint: tuple[float, float] | None) -> Iterator[str]:
    for name, durations in results.items():
        limit = LIMITS.get(name, TABLE_LIMIT)
        yield from (
            f"{name}, {title}: {milliseconds:.0f} ms"
            for title, milliseconds in durations.items()
            if milliseconds >= limit
        )
    if paint is not None and paint[0] >= PAINT_LIMIT:
        yield f"first paint: {paint[0]:.0f} ms"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = benchmark_parser("benchmarks.compare", __doc__)
    parser.add_argument("--paint", action="store_true")
    options = parser.parse_args(arguments)
    machine = describe_machine(publish=options.publish)
    with start_lab():
        studies = fill_lab()
        results = measure_views(studies, repeats=1 if options.quick else REPEATS)
        paint = None
        if options.paint:
            from benchmarks.compare.first_paint import first_paints

            paint = first_paints(studies["200 runs"])
    line = f"Measured on {machine['cpu']}, {machine['cores']} cores; others used {machine['busy_before']:.0%} of them."
    text = f"{line}\n\n{compare_table(results, paint)}"
    print(text)
    for line in missed_limits(results, paint):
        print(f"over its limit: {line}")
    if not options.quick:
        measured = {"machine": machine, "views": results, "paint": paint}
        store_results("compare", measured, text.rstrip(), publish=options.publish)
    return 0


if __name__ == "__main__":
    sys.exit(main())
