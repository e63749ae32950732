"""Studies as REST answers with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from experiments.api.schemas import Answer, Number, State, example_config
from experiments.models import RunState, Study
from experiments.studies.selectors.progress import Progress, progress_of

STUDY: dict[str, Any] = {
    "id": 12,
    "name": "FedProx against FedAvg",
    "description": "Does the proximal term help on skewed labels?",
    "tags": ["skew"],
    "origin": "own",
    "owner": "mira",
    "priority": 0,
    "requires": "cpu",
    "paused": False,
    "archived": None,
    "being_deleted": False,
    "parent": None,
    "created": "2026-03-01T12:00:00Z",
    "state": "running",
    "runs": 12,
    "counts": {"queued": 4, "running": 2, "done": 6, "failed": 0, "cancelled": 0},
    "rounds_done": 310,
    "rounds_total": 480,
    "seconds_left": 42.5,
}
BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.01, 0.1]}],
    "partition": [{"name": "iid"}, {"name": "label-dirichlet", "alpha": 0.3}],
    "rounds": 40,
    "seeds": 2,
}

SUMMARY_ROW: dict[str, Any] = {
    "group": {"strategy": "fedprox", "strategy.mu": 0.1},
    "round": 20,
    "mean": 0.912,
    "std": 0.004,
    "low": 0.908,
    "high": 0.917,
    "n": 3,
    "lost": 0,
    "missed": 0,
    "best": True,
}


class StudyAnswer(Answer):
    model_config = example_config(**STUDY)

    id: int
    """Its number."""
    name: str
    """What its owner calls it."""
    description: str
    """Why it is done, in free text."""
    tags: list[str]
    """Words to find it by."""
    origin: str
    """`own`, `tour`, or the preset it was launched from."""
    owner: str
    """Who launched it."""
    priority: int
    """Higher goes first."""
    requires: str
    """What a worker must have to take its runs: cpu or gpu."""
    paused: bool
    """Whether queued runs are held back."""
    archived: datetime | None
    """Since when it is put away; null where it is not."""
    being_deleted: bool
    """Whether it goes, in the background: it takes no changes and is in no list any more."""
    parent: int | None
    """The study it was varied from, if any."""
    created: datetime
    """When it was launched."""
    state: str
    """One word for the whole: running, queued, paused, done, failed, cancelled or empty."""
    runs: int
    """How many runs it holds."""
    counts: dict[State, int]
    """Runs by state."""
    rounds_done: int
    """Rounds that are stored, over all runs."""
    rounds_total: int
    """Rounds there will be at most, over all runs."""
    seconds_left: float | None
    """At the present speed; null where nothing runs."""


class StudyDetail(StudyAnswer):
    model_config = example_config(**STUDY, blocks=[BLOCK])

    blocks: list[dict[str, Any]]
    """Its grids, as written."""


class EstimateAnswer(Answer):
    model_config = example_config(low_seconds=40.0, high_seconds=95.0, workers=2, basis="measured", other_runs=0)

    low_seconds: float
    """If all goes well, and whoever else waits takes turns with it."""
    high_seconds: float
    """If it does not, and all that waits comes first."""
    workers: int
    """Those that may take the runs now; with none, the seconds are those of one."""
    basis: Literal["measured", "calibrated", "guessed"]
    """Runs like these that are done here, a trial of some seconds, or the model's size alone."""
    other_runs: int
    """Runs that wait or run on these workers already: the seconds allow for them."""


class PlanAnswer(Answer):
    model_config = example_config(
        runs=12,
        cells=6,
        reused=2,
        estimate={"low_seconds": 40.0, "high_seconds": 95.0, "workers": 2, "basis": "measured", "other_runs": 0},
        bytes=5_400_000,
        warnings=[],
        calibrating=False,
    )

    runs: int
    """Runs the study would have."""
    cells: int
    """Runs that differ only in seed form a cell."""
    reused: int
    """Runs that exist already and would become members."""
    estimate: EstimateAnswer
    """How long the new runs would take on the workers there are now."""
    bytes: int
    """What all its clients and servers would send each other in a real deployment."""
    warnings: list[str]
    """What can be launched, but may not compare what it seems to: cells that train on different shares of the data."""
    calibrating: bool
    """Whether a model of which nothing is known is being tried: asked again in some seconds, the estimate is better."""


class Counted(Answer):
    model_config = example_config(runs=3)

    runs: int
    """How many runs were changed."""


class StudyChange(Answer):
    """What is not given stays as it is."""

    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra={
            "examples": [
                {"name": "FedProx, once more", "description": "", "tags": ["skew"], "priority": 5, "archived": False}
            ]
        },
    )

    name: str = Field("", min_length=1, max_length=200)
    """What it is called from now on."""
    description: str = Field("", max_length=20_000)
    """Why it is done, in free text."""
    tags: list[str] = Field([], max_length=50)
    """All its tags: those left out are taken off."""
    priority: int = Field(0, ge=-100, le=100)
    """Higher goes first; the default is 0."""
    archived: bool = False
    """True puts the study away: it leaves the list of studies, and nothing is lost. False brings it back."""


class SummaryRow(Answer):
    model_config = example_config(**SUMMARY_ROW)

    group: dict[str, Any]
    """The fields that were grouped by, with the values these runs share; null where they have no such field."""
    round: int
    """Where each run's last round is meant: the latest of them."""
    mean: float | None
    """Over the seeds of the group; null where none has a finite value."""
    std: Number | None
    """With ddof 1; null for fewer than two seeds, infinite where it exceeds the largest number."""
    low: float | None
    """The smallest."""
    high: float | None
    """The largest."""
    n: int
    """Seeds with a finite value; runs of a cell that have the same seed count once."""
    lost: int
    """Seeds that diverged, so that their value is not finite: they count in no mean."""
    missed: int
    """Seeds without a value, as their runs failed, were cancelled or ended before."""
    best: bool
    """The best mean at this round (the highest accuracy, the lowest loss), of groups that lost no seed."""


class SummaryAnswer(Answer):
    model_config = example_config(study=12, metric="accuracy", by=["strategy", "strategy.mu"], rows=[SUMMARY_ROW])

    study: int
    """Its number."""
    metric: str
    """Which number is summed up."""
    by: list[str]
    """The fields that were grouped by, by their paths."""
    rows: list[SummaryRow]
    """One per group and round, groups in the order of the grid."""


def study_answers(studies: Sequence[Study]) -> list[dict[str, Any]]:
    progress = progress_of(studies)
    return [study_answer(study, progress[study.pk]) for study in studies]


def study_answer(study: Study, progress: Progress) -> dict[str, Any]:
    return {
        "id": study.pk,
        "name": study.name,
        "description": study.description,
        "tags": study.tags,
        "origin": study.origin,
        "owner": study.owner.username,
        "priority": study.priority,
        "requires": study.requires,
        "paused": study.paused,
        "archived": study.archived,
        "being_deleted": study.deleting is not None,
        "parent": study.parent_id,
        "created": study.created,
        "state": progress.state,
        "runs": progress.runs,
        "counts": {state: progress.counts[state] for state in RunState.values},
        "rounds_done": progress.rounds_done,
        "rounds_total": progress.rounds_total,
        "seconds_left": progress.left.total_seconds() if progress.left else None,
        "blocks": study.blocks,
    }
