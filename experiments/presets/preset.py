"""A published study as a file: what it asked and found, its grids in two scales, and the numbers it printed."""

from __future__ import annotations

import json
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
    "holdings-histograms",
    "centralised-table",
    "tuning-map",
]


class PresetPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CurveReading(PresetPart):
    """A number read from one run's curve. `metric` may end in `*`: the mean over all that begin so."""

    metric: str = "accuracy"


class Start(CurveReading):
    """The value of round 0, before training: what a strategy found out about the clients first."""

    take: Literal["start"]


class Final(CurveReading):
    """The last value; `of: difference` less the same of `against`; `best-cell` that of the best of all cells, and
    `best-run` that of the best single run of all of them."""

    take: Literal["final"]
    of: Literal["cell", "best-cell", "best-run", "difference"] = "cell"


class At(CurveReading):
    take: Literal["at"]
    round: int


class BestReading(CurveReading):
    """Of each run, or of the mean curve over the runs: one number then, below the mean of the runs' own bests."""

    of: Literal["run", "mean-curve"] = "run"


class Max(BestReading):
    """The best value of any round after 0."""

    take: Literal["max"]


class ArgMax(BestReading):
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
    """The first round whose value differs by less than the tolerance, a share of it, from the round before."""

    take: Literal["converge"]
    tolerance: float = 0.001


class Count(CurveReading):
    """How many rounds have a value above 0."""

    take: Literal["count"]


class Saved(PresetPart):
    """Bytes saved over `against`, in percent: of all rounds, or in the `worst` case until convergence.

    With `own_bytes` and `other_bytes`, what a client sends in a round is taken to be that, whatever was sent.
    """

    take: Literal["saved"]
    worst: bool = False
    own_bytes: float | None = None
    other_bytes: float | None = None


class Size(PresetPart):
    """What the model's parameters take as 32-bit numbers: a matter of the spec alone, not of seeds."""

    take: Literal["size"]


Reading = Annotated[
    Start | Final | At | Max | ArgMax | Over | Reach | Converge | Count | Saved | Size, Field(discriminator="take")
]


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
    fitted: bool = False
    """A setting was chosen because this number then comes out: it is counted apart."""
    repeated: bool = False
    """The same printed number, read in another way: shown, and not counted again."""


class Difference(PresetPart):
    """What in the study is unclear or wrong, and what is done here instead."""

    study: str
    here: str


class Setting(PresetPart):
    """A setting that the study does not state: all values tried with what came of them, and the one taken."""

    name: str
    tried: list[str]
    chosen: str


class Reason(PresetPart):
    """Why numbers differ. `match` is compared with the number's own; empty for all of the study."""

    match: dict[str, Any] = {}
    take: list[str] = []
    """Only readings of these kinds; all where empty."""
    why: str


class Claim(PresetPart):
    """A sentence of the study as a test: in every setting of `where`, `higher` is above each of `lower`.

    The readings are compared over matching seeds; with `compare: spread` it is the spreads over seeds that are, and
    `higher` has the larger one.
    """

    text: str
    where: list[dict[str, Any]]
    higher: dict[str, Any]
    lower: list[dict[str, Any]]
    reading: Reading
    compare: Literal["value", "spread"] = "value"


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
    settings: list[Setting] = []
    reasons: list[Reason] = []
    claims: list[Claim] = []


@cache
def stored_verdicts() -> dict[str, dict[str, int]]:
    """By preset, what its reproduction came to: written from the stored runs by `python -m benchmarks.reproduction`."""
    counts: dict[str, dict[str, int]] = json.loads((FOLDER / "verdicts.json").read_text(encoding="utf-8"))
    return counts


@cache
def presets() -> dict[str, Preset]:
    """All of them by name, in the order of their names."""
    files = sorted(FOLDER.glob("*.yaml"))
    return {path.stem: Preset.model_validate(load_yaml(path.read_text(encoding="utf-8"))) for path in files}
