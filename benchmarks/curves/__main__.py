"""Curves as a row a value, as the version before kept them, against blocks: bytes, writing and reading, by turns.

python -m benchmarks.curves              some minutes; writes benchmarks/results/latest/
python -m benchmarks.curves --quick      does it still work?
python -m benchmarks.curves --publish    on a quiet machine: writes benchmarks/results/ and the table in docs/scale.md

Writing is what a worker does with its rounds, by the platform's own services on a durable PostgreSQL.
Reading is what Compare asks for of 2,000 runs with 200 rounds; a difference in any number ends the command.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, benchmark_parser, keep_results

PAGE = ROOT / "docs" / "scale.md"
MARKS = ("<!-- curves: written by `python -m benchmarks.curves` -->", "<!-- /curves -->")


def main(arguments: Sequence[str] | None = None) -> int:
    options = benchmark_parser("benchmarks.curves", __doc__).parse_args(arguments)
    machine = describe_machine(publish=options.publish)
    with start_servers():
        # Django reads its settings from the environment that is set by now.
        from benchmarks.curves.measures import QUICK, Size, measure_reading, measure_writing
        from experiments.models import Role, User

        size = QUICK if options.quick else Size()
        owner = User.objects.create(username="bench", role=Role.ADMIN)
        writing = measure_writing(owner, size)
        results = {"machine": machine, "writing": writing, "reading": measure_reading(owner, size)}
    text = curves_table(results)
    print(text)
    if not options.quick:
        keep_results("curves", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


def curves_table(results: Mapping[str, Any]) -> str:
    writing, reading = results["writing"], results["reading"]
    rows, blocks = writing["bytes"]["rows"], writing["bytes"]["blocks"]
    lines = [
        "| | a row a value | blocks | blocks to rows |",
        "| --- | ---: | ---: | ---: |",
        f"| bytes a value, with indexes | {rows:.0f} | **{blocks:.1f}** | {blocks / rows:.2f} |",
    ]
    for what, kinds in writing["speeds"].items():
        before, now = kinds["rows"], kinds["blocks"]
        lines.append(f"| values written a second, {what} | {before:,.0f} | {now:,.0f} | **{now / before:.2f}** |")
    for what, kinds in reading["seconds"].items():
        before, now = kinds["rows"], kinds["blocks"]
        lines.append(f"| Compare, {what} | {before * 1000:.0f} ms | {now * 1000:.0f} ms | **{now / before:.2f}** |")
    machine = results["machine"]
    return "\n".join(
        [
            *lines,
            "",
            f"{writing['values']['blocks']:,} values were written by either, and {reading['runs']:,} runs with "
            f"{reading['rounds']} rounds were read; on {machine['cpu']}, {machine['cores']} cores, others used "
            f"{machine['busy_before']:.0%} of them.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
