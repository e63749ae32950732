"""Rounds of an app as they happen: what strategies aggregate, what clients report, bytes and seconds.

Told by the strategy's own public methods where there is one (`configure_*` begins a round), and by the messages of a
`main` that sends them itself: there a round ends when a message's group changes, or, without groups, when a type of
message comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

TRAIN_PREFIX, CLIENT_PREFIX = "train_", "client_"
TRAIN, EVALUATE = "train", "evaluate"
SAMPLE_COUNTS = ("num-examples", "num_examples")


@dataclass
class Round:
    number: int
    metrics: dict[str, float] = field(default_factory=dict)
    clients: dict[int, dict[str, float]] = field(default_factory=dict)
    bytes_up: int = 0
    bytes_down: int = 0
    failed: int = 0
    trained: set[int] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    aggregated: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.metrics or self.kinds)


OnRound = Callable[[dict[str, Any]], None]


class RoundBook:
    """Collects a round and hands it over once the next one begins. Nested strategies count once, the outermost."""

    def __init__(self, on_round: OnRound, rules: Mapping[str, Mapping[str, str]]) -> None:
        self.on_round = on_round
        self.rules = {rule["source"]: (name, rule.get("unit", "fraction")) for name, rule in rules.items()}
        self.current: Round | None = None
        self.has_strategy = False
        self.offset = 0
        self.last_round: int | None = None
        self.group = ""
        self.server_names: set[str] = set()
        self.began = perf_counter()

    def begin_strategy(self, *, from_zero: bool) -> None:
        """A strategy starts to count, from 0 where it evaluates first. A second one of the same `main` counts on."""
        self.close()
        self.has_strategy = True
        self.offset = 0 if self.last_round is None else self.last_round + from_zero

    def begin(self, number: int) -> None:
        """A strategy says which round it is."""
        self.has_strategy = True
        self.turn_to(self.offset + number)

    def turn_to(self, number: int) -> Round:
        if self.current is None:
            self.current = Round(number)
        elif number != self.current.number:
            self.close()
            self.current = Round(number)
        return self.current

    def close(self) -> None:
        """The round is over; the last one when the app is."""
        done, now = self.current, perf_counter()
        self.current = None
        if done is None or done.is_empty:
            return
        metrics = {**(done.metrics if done.aggregated else client_means(done))}
        metrics |= {"bytes_up": float(done.bytes_up), "bytes_down": float(done.bytes_down)}
        if done.failed:
            metrics["clients_failed"] = float(done.failed)
        metrics["seconds"] = now - self.began
        self.began, self.last_round = now, done.number
        cohort = sorted(done.trained or done.clients)
        self.on_round({"round": done.number, "metrics": metrics, "cohort": cohort, "clients": done.clients})

    def before_exchange(self, kind: str, group: str) -> None:
        """A batch of messages is about to be sent."""
        if self.has_strategy:
            current = self.current or self.turn_to(0)
        elif self.current is None:
            current = self.turn_to(1)
        elif group != self.group or (not group and kind in self.current.kinds):
            current = self.turn_to(self.current.number + 1)
        else:
            current = self.current
        self.group = group
        current.kinds.add(kind)

    def record_reply(
        self, kind: str, client: int, metrics: Mapping[str, float], *, down: int, up: int, failed: bool
    ) -> None:
        current = self.current or self.turn_to(0)
        current.bytes_down += down
        current.bytes_up += up
        current.failed += failed
        if base_kind(kind) == TRAIN:
            current.trained.add(client)
        numbers = current.clients.setdefault(client, {})
        numbers |= {self.named(name, kind): self.converted(name, value) for name, value in metrics.items()}
        if failed:
            numbers["failed"] = 1.0

    def record_aggregate(self, kind: str, number: int, metrics: Mapping[str, float]) -> None:
        """What a strategy made of the replies of a round."""
        current = self.turn_to(self.offset + number)
        current.aggregated = True
        for name, value in metrics.items():
            named = self.named(name, kind)
            if base_kind(kind) == EVALUATE and named in self.server_names:
                named = CLIENT_PREFIX + named
            current.metrics[named] = self.converted(name, value)

    def record_server(self, number: int, metrics: Mapping[str, float]) -> None:
        """What the server measured itself."""
        self.has_strategy = True
        current = self.turn_to(self.offset + number)
        current.aggregated = True
        for name, value in metrics.items():
            named = self.named(name, EVALUATE)
            self.server_names.add(named)
            current.metrics[named] = self.converted(name, value)

    def named(self, name: str, kind: str) -> str:
        """By the study's rule, or the app's own name; a plain `loss` of training is not the one of evaluation."""
        if name in self.rules:
            return self.rules[name][0]
        if name in SAMPLE_COUNTS:
            return "samples"
        if base_kind(kind) == TRAIN and not name.startswith("train"):
            return TRAIN_PREFIX + name
        return name

    def converted(self, name: str, value: float) -> float:
        return value / 100.0 if self.rules.get(name, ("", ""))[1] == "percent" else value


def base_kind(kind: str) -> str:
    """`train.fine_tune` is a kind of train."""
    return kind.partition(".")[0]


def client_means(done: Round) -> dict[str, float]:
    """Of a round that nobody aggregated for us: plain means over the clients that reported."""
    names = list(dict.fromkeys(name for numbers in done.clients.values() for name in numbers if name != "failed"))
    means = {}
    for name in names:
        values = [numbers[name] for numbers in done.clients.values() if name in numbers]
        means[name] = sum(values) / len(values)
    return {**means, **done.metrics}
