"""Tables and folded parts of a Markdown page."""

from __future__ import annotations

from collections.abc import Sequence

MOST_ROWS = 24


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> str:
    """The first `words` columns are text, the others numbers."""
    rule = ["---"] * words + ["---:"] * (len(columns) - words)
    return "\n".join(f"| {' | '.join(row)} |" for row in [columns, rule, *rows])


def fold_away(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def titled_table(title: str, table: str, rows: int) -> str:
    """Below its title, or folded away where it is long."""
    return fold_away(title, table) if rows > MOST_ROWS else f"**{title}**\n\n{table}"
