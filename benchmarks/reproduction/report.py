"""Stored results as Markdown and pictures. Pure: equal results make equal pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.reproduction.svg import picture

FOLDER = "reproduction"
MOST_ROWS = 24
Told = Mapping[str, Any]


def marks(preset: str) -> tuple[str, str]:
    return f"<!-- {preset}: written by `python -m benchmarks.reproduction` -->", f"<!-- /{preset} -->"


def section(preset: str, told: Told) -> str:
    blocks = [
        progress(told),
        *(f"![{chart['title']}]({FOLDER}/{name})" for name, chart in named(preset, told)),
        *(shown_table(table) for table in told["tables"]),
        *compared(told),
    ]
    return "\n\n".join(block for block in blocks if block)


def named(preset: str, told: Told) -> list[tuple[str, Told]]:
    return [(f"{preset}-{place}.svg", chart) for place, chart in enumerate(told["charts"], start=1)]


def pictures(preset: str, told: Told) -> dict[str, str]:
    return {name: picture(chart) for name, chart in named(preset, told)}


def progress(told: Told) -> str:
    total, done = sum(told["states"].values()), told["states"].get("done", 0)
    state = (
        "all runs are done" if done == total else f"**{done} of {total} runs are done; the others are missing below**"
    )
    return f"*{told['study']}.* {told['cut']} {total} runs: {state}."


def shown_table(table: Told) -> str:
    rows = [[*heads, *(emphasised(*field) for field in fields)] for heads, fields in table["rows"]]
    lines = markdown([*table["heads"], *table["columns"]], rows, words=len(table["heads"]))
    text = f"{lines}\n\n{table['caption'].rstrip('.')}." if table["caption"] else lines
    return folded(table["title"], text) if len(rows) > MOST_ROWS else f"**{table['title']}**\n\n{text}"


def emphasised(text: str, standing: str) -> str:
    return f"**{text}**" if standing == "best" else f"{text} †" if standing == "tie" else text


def compared(told: Told) -> list[str]:
    """The published numbers that have a counterpart, and why the others have none."""
    columns = ["cell", "number", "published", "measured [95 %]", "n", "difference", "inside"]
    rows = [compared_row(row) for row in told["compared"]]
    within = [row["inside"] for row in told["compared"] if row["inside"] is not None]
    lines = [f"- {count} not compared: {reason}" for reason, count in told["not_compared"].items()]
    head = f"**Published beside measured**: {len(rows)} numbers compared"
    head += f", {sum(within)} of {len(within)} inside the measured 95 % interval." if within else "."
    table = markdown(columns, rows, words=2) if rows else ""
    return [head, folded("Number by number", table) if len(rows) > MOST_ROWS else table, "\n".join(lines)]


def compared_row(row: Told) -> list[str]:
    inside = {True: "yes", False: "no", None: ""}[row["inside"]]
    values = [f"{row[name]} {row['unit']}" for name in ("published", "measured")]
    return [row["about"], row["what"], *values, str(row["n"]), row["difference"], inside]


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> str:
    rule = ["---"] * words + ["---:"] * (len(columns) - words)
    return "\n".join(f"| {' | '.join(row)} |" for row in [columns, rule, *rows])


def folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"
