"""Several studies side by side, as the page Compare has them: cells with intervals, and what may be said of them."""

from __future__ import annotations

import html
from typing import Any
from urllib.parse import urlencode

from tributary.connection import Connection, connect
from tributary.studies import Study, require_pandas, rows_html


def compare(*studies: Study | int, metric: str = "accuracy", lab: Connection | None = None) -> Comparison:
    """Studies of the lab's own and logged ones alike, named by themselves or their numbers."""
    lab = lab or connect()
    numbers = [each.id if isinstance(each, Study) else int(each) for each in studies]
    return Comparison(lab, numbers, metric, lab.get("/compare/verdicts", study=numbers, metric=metric))


class Comparison:
    """`rows` has a cell each: its axes, n seeds, mean and 95 % interval. `verdicts` never go without their caveats."""

    def __init__(self, lab: Connection, studies: list[int], metric: str, answer: dict[str, Any]) -> None:
        self.lab, self.studies, self.metric, self.answer = lab, studies, metric, answer

    @property
    def address(self) -> str:
        query = urlencode({"study": self.studies, "metric": self.metric}, doseq=True)
        return f"{self.lab.login.address}/compare?{query}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        kept = ("n", "mean", "low", "high", "lost")
        return [{**cell["axes"], **{name: cell[name] for name in kept}} for cell in self.answer["cells"]]

    @property
    def frame(self) -> Any:
        return require_pandas().DataFrame(self.rows)

    @property
    def verdicts(self) -> list[str]:
        return [" ".join([each["verdict"], *each["caveats"]]) for each in self.answer["verdicts"]]

    def __repr__(self) -> str:
        return f"<Comparison of studies {', '.join(map(str, self.studies))}: {len(self.rows)} cells>"

    def _repr_html_(self) -> str:
        words = "".join(f"<p>{html.escape(each)}</p>" for each in self.verdicts)
        link = f'<p><a href="{html.escape(self.address)}">Compare</a> · {html.escape(self.metric)}</p>'
        return link + rows_html(self.rows) + words
