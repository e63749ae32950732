"""A published study as a file: what it asked and found, its grids in two scales, and the numbers it printed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from workers.spec.yaml import load_yaml

FOLDER = Path(__file__).parent
ScaleName = Literal["quick", "full"]
Display = Literal[
    "curves",
    "overlays",
    "rounds-table",
    "stability-table",
    "final-table",
    "against-ratio",
    "rounds-to-target",
    "swap-moments",
    "traffic",
    "detectors",
    "final-bars",
    "sizes",
    "groups",
    "holdings",
]


class PresetPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CurveReading(PresetPart):
    """A number read from one run's curve. `metric` may end in `*`: the mean over all that begin so."""

    metric: str = "accuracy"


class Final(CurveReading):
    """The last value; `of: difference` less the same of `against`; `best-cell` that of the best of all cells."""

    take: Literal["final"]
    of: Literal["cell", "best-cell", "difference"] = "cell"


class At(CurveReading):
    take: Literal["at"]
    round: int


class Max(CurveReading):
    """The best value of any round after 0."""

    take: Literal["max"]


class ArgMax(CurveReading):
    """The first round that has the best value."""

    take: Literal["argmax"]


class Over(CurveReading):
    """Mean or sample variance over rounds, both ends included."""

    take: Literal["mean", "variance"]
    first: int
    last: int


class Reach(CurveReading):
    """The first round with at least that value."""

    take: Literal["reach"]
    target: float


class Converge(CurveReading):
    """The first round whose value differs by less than the tolerance from the round before."""

    take: Literal["converge"]
    tolerance: float = 0.001


class Count(CurveReading):
    """How many rounds have a value above 0."""

    take: Literal["count"]


class Saved(PresetPart):
    """Bytes saved over `against`, in percent: of all rounds, or in the `worst` case until convergence."""

    take: Literal["saved"]
    worst: bool = False


Reading = Annotated[Final | At | Max | ArgMax | Over | Reach | Converge | Count | Saved, Field(discriminator="take")]


class Published(PresetPart):
    """One printed number. `match` says in terms of a RunSpec which runs it is about; unit percent unless said."""

    match: dict[str, Any]
    reading: Reading
    value: float
    std: float | None = None
    unit: str = "percent"
    approximate: bool = False
    against: dict[str, Any] | None = None
    note: str = ""


class Difference(PresetPart):
    """What in the study is unclear or wrong, and what is done here instead."""

    study: str
    here: str


class Scale(PresetPart):
    note: str
    """What was cut, or that nothing was."""
    blocks: list[dict[str, Any]]


class Preset(PresetPart):
    name: str
    title: str
    source: str
    asked: str
    found: str
    differences: list[Difference]
    displays: list[Display]
    target: float | None = None
    table_rounds: list[int] = []
    scales: Mapping[ScaleName, Scale]
    published: list[Published]


@cache
def presets() -> dict[str, Preset]:
    """All of them by name, in the order of their names."""
    files = sorted(FOLDER.glob("*.yaml"))
    return {path.stem: Preset.model_validate(load_yaml(path.read_text(encoding="utf-8"))) for path in files}
