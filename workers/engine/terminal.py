"""What a run looks like in a terminal: one line per round, and below it a bar where a person is watching."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any, TextIO

from workers.engine.records import RoundRecord

METRIC_FORMATS = {"accuracy": "{:.4f}", "loss": "{:.4f}", "train_loss": "{:.4f}", "f1": "{:.4f}", "seconds": "{:.3f} s"}
BAR_WIDTH = 30
CLEAR_LINE = "\r\x1b[2K"


@dataclass
class Terminal:
    """Lines go to `out`, the bar and remarks to `err`; `as_json` writes one object a line instead, and no bar."""

    rounds: int
    as_json: bool = False
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    started: float = field(default_factory=monotonic)
    first: int | None = None

    def write_event(self, name: str, **facts: Any) -> None:
        if self.as_json:
            self.write_line(json.dumps({"event": name, **facts}))

    def write_round(self, record: RoundRecord) -> None:
        self.first = record.round if self.first is None else self.first
        if self.as_json:
            self.write_event("round", **asdict(record))
        else:
            self.write_line(round_line(record, self.rounds))
            self.write_bar(record.round)

    def write_line(self, text: str) -> None:
        self.clear_bar()
        self.out.write(f"{text}\n")
        self.out.flush()  # whoever reads along must see a round before the next begins, even if this process is killed

    def write_remark(self, text: str) -> None:
        self.clear_bar()
        self.err.write(f"{text}\n")
        self.err.flush()

    def write_bar(self, number: int) -> None:
        if self.is_watched and number < self.rounds:
            done = number - (self.first or 0)
            seconds = seconds_left(monotonic() - self.started, done, self.rounds - number)
            self.err.write(progress_bar(number, self.rounds, seconds))
            self.err.flush()

    def clear_bar(self) -> None:
        if self.is_watched:
            self.err.write(CLEAR_LINE)

    @property
    def is_watched(self) -> bool:
        return not self.as_json and self.err.isatty()


def round_line(record: RoundRecord, rounds: int) -> str:
    number = f"round {record.round:>{len(str(rounds))}}/{rounds}"
    return "  ".join([number, *metric_texts(record.metrics)])


def metric_texts(metrics: Mapping[str, float]) -> list[str]:
    return [f"{name} {form.format(metrics[name])}" for name, form in METRIC_FORMATS.items() if name in metrics]


def progress_bar(number: int, rounds: int, seconds: float | None) -> str:
    filled = BAR_WIDTH * number // rounds
    left = "" if seconds is None else f"  {duration_text(seconds)} left"
    return f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {100 * number // rounds} %{left}"


def seconds_left(elapsed: float, done: int, to_do: int) -> float | None:
    return elapsed / done * to_do if done else None


def duration_text(seconds: float) -> str:
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
