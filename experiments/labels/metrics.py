"""What a metric is called, in which unit it is shown, and which way is better."""

from __future__ import annotations

import math
from dataclasses import dataclass

HUGE = 1e15
"""Only diverging values are as large: their digits would fill the page."""


@dataclass(frozen=True)
class MetricLabel:
    name: str
    text: str
    unit: str = ""
    scale: float = 1.0
    digits: int = 3
    higher_is_better: bool = False
    lowest: float = -math.inf
    """In stored units, as the highest: what the value cannot go beyond, whatever an interval says."""
    highest: float = math.inf

    @property
    def axis(self) -> str:
        return f"{self.text}, {self.unit}" if self.unit else self.text

    @property
    def difference_unit(self) -> str:
        """Shares differ by percentage points."""
        return "points" if self.unit == "%" else self.unit

    def clip(self, interval: tuple[float, float] | None) -> tuple[float, float] | None:
        """Without what is impossible: no accuracy is above 100 %."""
        return interval and (max(interval[0], self.lowest), min(interval[1], self.highest))

    def format(self, value: float | None) -> str:
        return "–" if value is None else self.format_scaled(value * self.scale)

    def format_scaled(self, value: float) -> str:
        """Of a value that is in the shown unit already."""
        return f"{value:.{self.digits}f}" if abs(value) < HUGE else f"{value:.3g}"


def percent_label(name: str, text: str) -> MetricLabel:
    return MetricLabel(name, text, "%", 100.0, 2, higher_is_better=True, lowest=0.0, highest=1.0)


def megabytes_label(name: str, text: str) -> MetricLabel:
    return MetricLabel(name, text, "MB per round", 1e-6, 3, lowest=0.0)


def seconds_label(name: str, text: str) -> MetricLabel:
    return MetricLabel(name, text, "s per round", 1.0, 3, lowest=0.0)


KNOWN_METRICS: dict[str, MetricLabel] = {
    label.name: label
    for label in (
        percent_label("accuracy", "Test accuracy"),
        MetricLabel("loss", "Test loss", digits=4, lowest=0.0),
        percent_label("f1", "Macro F1"),
        MetricLabel("attack.success", "Attack success", "%", 100.0, 2, lowest=0.0, highest=1.0),
        MetricLabel("privacy.epsilon", "Epsilon", digits=2, lowest=0.0),
        MetricLabel("privacy.clipped", "Clipped clients", "per round", digits=0),
        MetricLabel("privacy.clip", "Clip of the round", digits=4, lowest=0.0),
        MetricLabel("attack.clients", "Malicious clients", "per round", digits=0),
        MetricLabel("validation_loss", "Validation loss", digits=4, lowest=0.0),
        MetricLabel("train_loss", "Training loss", digits=4),
        MetricLabel("athena.groups", "Groups", digits=0),
        percent_label("client_accuracy_mean", "Mean accuracy of clients"),
        percent_label("client_accuracy_std", "Spread of clients' accuracy"),
        percent_label("client_accuracy_worst10", "Accuracy of the worst tenth of clients"),
        percent_label("personal_accuracy", "Accuracy of clients' own models"),
        MetricLabel("personal_loss", "Loss of clients' own models", digits=4, lowest=0.0),
        percent_label("personal_f1", "Macro F1 of clients' own models"),
        megabytes_label("bytes_up", "Upload"),
        megabytes_label("bytes_down", "Download"),
        megabytes_label("bytes_peer", "Client to client"),
        MetricLabel("local_steps", "Local steps", "per round", digits=0, lowest=0.0),
        MetricLabel("samples_seen", "Samples trained on", "per round", digits=0, lowest=0.0),
        seconds_label("seconds", "Time"),
        seconds_label("seconds_cpu", "CPU time"),
        seconds_label("seconds_train", "Training time"),
        seconds_label("seconds_aggregate", "Aggregation time"),
        seconds_label("seconds_evaluate", "Evaluation time"),
    )
}
DETECTOR_ACCURACY = "athena.detector_accuracy"


def metric_label(name: str) -> MetricLabel:
    if known := KNOWN_METRICS.get(name):
        return known
    if name.startswith("recall."):
        return percent_label(name, f"Recall of {name.removeprefix('recall.')}")
    if name.startswith(DETECTOR_ACCURACY):
        return percent_label(
            name, f"Detector accuracy {name.removeprefix(DETECTOR_ACCURACY).replace('.', 'of ', 1)}".strip()
        )
    return MetricLabel(name, name.replace("_", " "))


def sort_metric_names(names: list[str]) -> list[str]:
    """Known metrics first, in the order people look at them; the others by name.

    Where nothing known but costs was measured, as by an app that counts something, what it measured comes before those.
    """
    order = {name: place for place, name in enumerate(KNOWN_METRICS)}
    others = len(order) if any(name in order and not is_cost(name) for name in names) else -1
    return sorted(names, key=lambda name: (order.get(name, others), name))


def is_cost(name: str) -> bool:
    return name.startswith(("bytes_", "seconds")) or name in ("local_steps", "samples_seen")
