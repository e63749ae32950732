"""Published studies, as REST answers with them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from experiments.api.schemas import Answer, Id, Number, example_config

SCALE = {"note": "UCI HAR only; 3 seeds of 20.", "runs": 9, "blocks": [{"dataset": {"name": "uci-har"}}]}

PRESET: dict[str, Any] = {
    "name": "iaisy-2024",
    "title": "Between federated and centralised learning",
    "source": "Iaisy, University of Bologna, 2024",
    "datasets": [{"name": "uci-har", "ready": True}],
    "published": 11,
    "verdicts": None,
}
COUNTS = {"agree": 5, "differ": 4, "not_compared": 5, "fitted_agree": 3, "fitted": 15}


class ScaleAnswer(Answer):
    model_config = example_config(**SCALE)

    note: str
    """What was cut, or that nothing was."""
    runs: int
    """How many runs it has."""
    blocks: list[dict[str, Any]]
    """Its grid."""


class PresetDataAnswer(Answer):
    model_config = example_config(name="uci-har", ready=True)

    name: str
    """The data set."""
    ready: bool
    """Whether it is here."""


class DifferenceAnswer(Answer):
    model_config = example_config(study="The batch size is not stated.", here="Batches of 32 samples.")

    study: str
    """What in the study is unclear or wrong."""
    here: str
    """What is done instead."""


class SettingAnswer(Answer):
    model_config = example_config(name="batch size", tried=["32: 93.19", "64: 91.25"], chosen="32")

    name: str
    """What the study does not state."""
    tried: list[str]
    """Every value tried, with what came of it."""
    chosen: str
    """The one that is taken."""


class CountsAnswer(Answer):
    model_config = example_config(**COUNTS)

    agree: int
    """Within a point, or two published deviations, over 3 seeds at least."""
    differ: int
    """Further off."""
    not_compared: int
    """Not measured, or with fewer seeds."""
    fitted_agree: int
    """Of the fitted ones, those that agree."""
    fitted: int
    """Numbers that a setting was chosen by: in none of the other counts."""


class PresetAnswer(Answer):
    model_config = example_config(**PRESET)

    name: str
    """What it is called in addresses and commands."""
    title: str
    """What it is about."""
    source: str
    """Who published it, where and when."""
    datasets: list[PresetDataAnswer]
    """The data it needs."""
    published: int
    """How many published numbers it has."""
    verdicts: CountsAnswer | None
    """What its reproduction with the runs that came with this version came to; null where there were none."""


class PresetDetail(PresetAnswer):
    model_config = example_config(
        **PRESET,
        asked="What lies between federated and centralised?",
        found="A little sharing goes a long way.",
        differences=[{"study": "The batch size is not stated.", "here": "Batches of 32 samples."}],
        settings=[],
        scales={"quick": SCALE, "full": SCALE},
        studies=[7],
    )

    asked: str
    """What the study asked."""
    found: str
    """What it found."""
    differences: list[DifferenceAnswer]
    """Where it is unclear or wrong, and what is done instead."""
    settings: list[SettingAnswer]
    """Settings that it does not state, and what was tried."""
    scales: dict[Literal["quick", "full"], ScaleAnswer]
    """Its grids."""
    studies: list[int]
    """Studies launched from it, the newest first."""


class PresetLaunch(Answer):
    model_config = {"extra": "forbid", **example_config(scale="quick")}

    scale: Literal["quick", "full"] = "quick"
    """quick: minutes on two cores; full: as published."""


class ComparedAnswer(Answer):
    model_config = example_config(
        match={"dataset": {"name": "uci-har"}, "hybrid": {"ratio": 0.0}},
        reading={"take": "final", "metric": "accuracy", "of": "cell"},
        unit="percent",
        published=91.15,
        published_std=None,
        approximate=False,
        note="",
        fitted=False,
        repeated=False,
        verdict="differs",
        why="The batch size is not stated.",
        mean=92.3,
        low=91.0,
        high=93.6,
        n=5,
        lost=0,
        missed=0,
        difference=1.15,
        inside=True,
        reason="",
    )

    match: dict[str, Any]
    """Which runs it is about, in terms of their spec."""
    reading: dict[str, Any]
    """What of their curves it is."""
    unit: str
    """Of all its numbers."""
    published: float
    """The printed number."""
    published_std: float | None
    """The deviation or error printed with it."""
    approximate: bool
    """Whether it was read from a picture or stated roughly."""
    note: str
    """As what it is read, where that is not certain."""
    fitted: bool
    """Whether a setting was chosen because this number then comes out."""
    repeated: bool
    """Whether it is a printed number read in another way, which is not counted again."""
    verdict: Literal["agrees", "differs", "not compared"]
    """agrees: within a point or two published deviations, over 3 seeds at least."""
    why: str
    """Why it differs, or cannot be compared."""
    mean: Number | None
    """The measured mean over seeds; null where it cannot be compared."""
    low: Number | None
    """Lower end of its 95 % interval, by Student's t; null for fewer than two seeds and where seeds are lost."""
    high: Number | None
    """Upper end."""
    n: int
    """How many seeds."""
    lost: int
    """Seeds that diverged: they are not in the mean, and there is no interval without them."""
    missed: int
    """Seeds without a value, as their runs failed, were cancelled or never got there: likewise."""
    difference: Number | None
    """Measured less published; null where seeds are lost."""
    inside: bool | None
    """Whether the published number lies in the interval."""
    reason: str
    """Why it cannot be compared; empty where it can."""


class ClaimAnswer(Answer):
    model_config = example_config(
        text="Centralised training beats federated training.", outcome="holds", p=0.001, n=5, comparisons=1, reason=""
    )

    text: str
    """The study's sentence."""
    outcome: Literal["holds", "opposite", "not shown", "not tested"]
    """At the level of 5 %, one-sided."""
    p: Number | None
    """Of the weakest of its comparisons; null where it is not tested."""
    n: int
    """Matching seeds, or settings where spreads are compared."""
    comparisons: int
    """How many had to hold."""
    reason: str
    """Why it is not tested."""


class PresetComparison(Answer):
    model_config = example_config(preset="iaisy-2024", study=7, compared=1, verdicts=COUNTS, claims=[], rows=[])

    preset: str
    """The published study."""
    study: Id
    """The study that was measured."""
    compared: int = Field(ge=0)
    """How many numbers could be compared."""
    verdicts: CountsAnswer
    """How many agree."""
    claims: list[ClaimAnswer]
    """The study's sentences as tests."""
    rows: list[ComparedAnswer]
    """One for each published number."""
