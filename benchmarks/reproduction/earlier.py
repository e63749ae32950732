"""Results that were collected as tables, before runs were stored one by one: shown until a study has stored runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.reproduction.markdown import MOST_ROWS, fold_away, markdown_table
from benchmarks.reproduction.report import FOLDER
from benchmarks.svg import draw_chart

NOTE = "*Earlier runs, with the settings of then (see the preset's page for those of now).*"
Results = Mapping[str, Any]


def earlier_section(preset: str, results: Results) -> str:
    blocks = [
        NOTE,
        progress_text(results),
        *(f"![{chart['title']}]({FOLDER}/{name})" for name, chart in named_charts(preset, results)),
        *(table_text(table) for table in results["tables"]),
        *comparison_blocks(results),
    ]
    return "\n\n".join(block for block in blocks if block)


def named_charts(preset: str, results: Results) -> list[tuple[str, Results]]:
    return [(f"{preset}-{place}.svg", chart) for place, chart in enumerate(results["charts"], start=1)]


def earlier_chart_files(preset: str, results: Results) -> dict[str, str]:
    return {name: draw_chart(chart) for name, chart in named_charts(preset, results)}


def progress_text(results: Results) -> str:
    total, done = sum(results["states"].values()), results["states"].get("done", 0)
    state = (
        "all runs are done" if done == total else f"**{done} of {total} runs are done; the others are missing below**"
    )
    return f"*{results['study']}.* {results['cut']} {total} runs: {state}."


def table_text(table: Results) -> str:
    rows = [[*heads, *(emphasise(*field) for field in fields)] for heads, fields in table["rows"]]
    lines = markdown_table([*table["heads"], *table["columns"]], rows, words=len(table["heads"]))
    text = f"{lines}\n\n{table['caption'].rstrip('.')}." if table["caption"] else lines
    return fold_away(table["title"], text) if len(rows) > MOST_ROWS else f"**{table['title']}**\n\n{text}"


def emphasise(text: str, standing: str) -> str:
    return f"**{text}**" if standing == "best" else f"{text} †" if standing == "tie" else text


def comparison_blocks(results: Results) -> list[str]:
    """The published numbers that have a counterpart, and why the others have none."""
    columns = ["cell", "number", "published", "measured [95 %]", "n", "difference", "inside"]
    rows = [comparison_cells(row) for row in results["compared"]]
    within = [row["inside"] for row in results["compared"] if row["inside"] is not None]
    lines = [f"- {count} not compared: {reason}" for reason, count in results["not_compared"].items()]
    head = f"**Published beside measured**: {len(rows)} numbers compared"
    head += f", {sum(within)} of {len(within)} inside the measured 95 % interval." if within else "."
    table = markdown_table(columns, rows, words=2) if rows else ""
    return [head, fold_away("Number by number", table) if len(rows) > MOST_ROWS else table, "\n".join(lines)]


def comparison_cells(row: Results) -> list[str]:
    inside = {True: "yes", False: "no", None: ""}[row["inside"]]
    values = [f"{row[name]} {row['unit']}" for name in ("published", "measured")]
    return [row["about"], row["what"], *values, str(row["n"]), row["difference"], inside]
