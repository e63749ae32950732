"""What a metric is called, in which unit it is shown, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricLabel:
    name: str
    text: str
    unit: str = ""
    scale: float = 1.0
    digits: int = 3
    higher_is_better: bool = False

    @property
    def axis(self) -> str:
        return f"{self.text}, {self.unit}" if self.unit else self.text

    @property
    def difference_unit(self) -> str:
        """Shares differ by percentage points."""
        return "points" if self.unit == "%" else self.unit

    def shown(self, value: float | None) -> str:
        return "–" if value is None else f"{value * self.scale:.{self.digits}f}"


def share(name: str, text: str) -> MetricLabel:
    return MetricLabel(name, text, "%", 100.0, 2, higher_is_better=True)


def megabytes(name: str, text: str) -> MetricLabel:
    return MetricLabel(name, text, "MB per round", 1e-6, 3)


def seconds(name: str, text: str) -> MetricLabel:
    return MetricLabel(name, text, "s per round", 1.0, 3)


KNOWN: dict[str, MetricLabel] = {
    label.name: label
    for label in (
        share("accuracy", "Test accuracy"),
        MetricLabel("loss", "Test loss", "nats", digits=4),
        share("f1", "Macro F1"),
        MetricLabel("train_loss", "Training loss", "nats", digits=4),
        share("client_accuracy_mean", "Mean accuracy of clients"),
        share("client_accuracy_std", "Spread of clients' accuracy"),
        share("client_accuracy_worst10", "Accuracy of the worst tenth of clients"),
        megabytes("bytes_up", "Upload"),
        megabytes("bytes_down", "Download"),
        megabytes("bytes_peer", "Client to client"),
        MetricLabel("local_steps", "Local steps", "per round", digits=0),
        MetricLabel("samples_seen", "Samples trained on", "per round", digits=0),
        seconds("seconds", "Time"),
        seconds("seconds_train", "Training time"),
        seconds("seconds_aggregate", "Aggregation time"),
        seconds("seconds_evaluate", "Evaluation time"),
    )
}
DETECTORS = "athena.detector_accuracy"


def metric_label(name: str) -> MetricLabel:
    if known := KNOWN.get(name):
        return known
    if name.startswith("recall."):
        return share(name, f"Recall of {name.removeprefix('recall.')}")
    if name.startswith(DETECTORS):
        return share(name, f"Detector accuracy {name.removeprefix(DETECTORS).replace('.', 'of ', 1)}".strip())
    return MetricLabel(name, name.replace("_", " "))


def in_reading_order(names: list[str]) -> list[str]:
    """Known metrics first, in the order people look at them; the others by name."""
    order = {name: place for place, name in enumerate(KNOWN)}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))
