"""The charts of Compare by name: one list for pages, downloads and REST."""

from __future__ import annotations

from collections.abc import Callable

from experiments.compare import depth, overview
from experiments.compare.choices import Choices, Tab
from experiments.compare.drawn import Drawn
from experiments.compare.picked import Picked

CHARTS: dict[str, Callable[[Picked, Choices], Drawn]] = {
    "curves": overview.curves,
    "against": overview.against,
    "map": overview.heat,
    "table": overview.pivot,
    "difference": depth.forest,
    "cost-bytes": depth.cost_bytes,
    "cost-seconds": depth.cost_seconds,
    "clients": depth.fairness,
    "client-rounds": depth.client_rounds,
    "confusion": depth.confusion,
}
CHARTS_OF: dict[Tab, tuple[str, ...]] = {
    "overview": ("curves", "against", "map", "table"),
    "better": ("difference",),
    "cost": ("cost-bytes", "cost-seconds"),
    "clients": ("clients", "client-rounds", "confusion"),
    "specs": (),
}
