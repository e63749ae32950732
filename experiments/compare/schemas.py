"""What comparisons take and answer with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import ConfigDict, Field

from experiments.access.services.share_links import DEFAULT_DAYS
from experiments.api.schemas import Answer, Id, example_config

VIEW: dict[str, Any] = {
    "id": 3,
    "name": "Hybrid ratio on UCI HAR",
    "query": "study=12&metric=accuracy&x=bytes",
    "owner": "mira",
    "shared": True,
    "created": "2026-03-01T12:00:00Z",
}
LINK: dict[str, Any] = {
    "id": 5,
    "title": "For the reviewers",
    "query": "study=12&metric=accuracy",
    "prefix": "Xh3k9Qp1",
    "owner": "mira",
    "created": "2026-03-01T12:00:00Z",
    "expires": "2026-03-31T12:00:00Z",
}

VERDICT: dict[str, Any] = {
    "first": "fedavg",
    "second": "fedprox",
    "settings": 1,
    "better": 0,
    "worse": 1,
    "ties": 0,
    "seeds": 5,
    "p": None,
    "verdict": "fedprox is better (5 seeds).",
    "caveats": ["One setting: nothing is said about others."],
}
CELL: dict[str, Any] = {
    "axes": {"strategy": "FedAvg"},
    "n": 5,
    "mean": 0.912,
    "low": 0.907,
    "high": 0.917,
    "lost": 0,
    "missed": 0,
}
FRIEDMAN = "Friedman's test compares three methods or more."


class CompareFilter(Schema):
    study: list[Id] = Field([], max_length=50, description="Studies to compare.", examples=[[12, 13]])
    tag: list[str] = Field([], max_length=50, description="Studies with any of these tags, too.", examples=[["paper"]])
    run: list[Id] = Field([], max_length=50, description="Single runs, too.", examples=[[71]])
    only: list[str] = Field(
        [], max_length=50, description="Keep these values of an axis: `axis:value`.", examples=[["strategy:fedavg"]]
    )
    baseline: int = Field(
        0, ge=0, lt=2**31, description="A starred cell, by its number in /baselines: drawn as a line.", examples=[3]
    )
    metric: str = Field("accuracy", max_length=100, description="Which metric.", examples=["accuracy"])
    value: str = Field(
        "final",
        description="final, best, last, at, rounds, bytes or seconds: what one number of a run stands for.",
        examples=["final"],
    )


class ComparisonAnswer(Answer):
    model_config = example_config(
        title="Test accuracy over rounds",
        description="Test accuracy, %, against rounds, mean over seeds. Last values: fedavg: 95.75 (n=3).",
        notes="Band: mean ± std over seeds",
        columns=["cell", "strategy", "round", "mean", "std", "low", "high", "n", "lost"],
        rows=[["9f2c", "fedavg", 20, 0.9575, 0.001, 0.9567, 0.9586, 3, 0]],
    )

    title: str
    """What the chart is called."""
    description: str
    """The chart in words."""
    notes: str
    """What a reader must know beside it."""
    columns: list[str]
    """Names of the columns; axes have their path as name."""
    rows: list[list[Any]]
    """One list for each row; not-a-number and infinity are text."""


class CellAnswer(Answer):
    model_config = example_config(**CELL)

    axes: dict[str, str]
    """What tells it from the others, by axis."""
    n: int
    """Seeds with a finite value."""
    mean: float | None
    """Over its seeds, in stored units; null where none has a finite value."""
    low: float | None
    """Where the mean's 95 % interval begins (Student's t); null for fewer than two seeds."""
    high: float | None
    """Where it ends."""
    lost: int
    """Seeds that diverged."""
    missed: int
    """Seeds without a value."""


class VerdictAnswer(Answer):
    model_config = example_config(**VERDICT)

    first: str
    """One value of the compared axis."""
    second: str
    """Another one."""
    settings: int
    """How many settings both were measured in."""
    better: int
    """In how many of them the first is better, by the 95 % interval over matching seeds."""
    worse: int
    """In how many it is worse."""
    ties: int
    """In how many the interval includes no difference."""
    seeds: int
    """Matching seeds in the setting that has the fewest."""
    p: float | None
    """Of Wilcoxon's test over settings, after Holm; null for fewer than two settings."""
    verdict: str
    """What may be said, or why nothing may be."""
    caveats: list[str]
    """What belongs to the verdict whenever it is repeated."""


class VerdictsAnswer(Answer):
    model_config = example_config(
        metric="Test accuracy, %", compared="strategy", overall=FRIEDMAN, cells=[CELL], verdicts=[VERDICT], left_out=0
    )

    metric: str
    """Which number, with its unit."""
    compared: str
    """The axis whose values are compared."""
    overall: str
    """What Friedman's test says of all together, or why it cannot be asked."""
    cells: list[CellAnswer]
    """The cells that are compared."""
    verdicts: list[VerdictAnswer]
    """One for every two values."""
    left_out: int
    """Values beyond the first twelve, which are not compared."""


class ViewWish(Schema):
    model_config = ConfigDict(extra="forbid", **example_config(name=VIEW["name"], query=VIEW["query"], shared=True))

    name: str
    """What it is called; yours of the same name is replaced."""
    query: str
    """Everything after the question mark of the Compare page's address."""
    shared: bool = True
    """Whether the others of the lab see it."""


class ViewAnswer(Answer):
    model_config = example_config(**VIEW)

    id: int
    """Its number."""
    name: str
    """What it is called."""
    query: str
    """Put it behind `/compare?` to open the view."""
    owner: str
    """Who saved it."""
    shared: bool
    """Whether the others of the lab see it."""
    created: datetime
    """When it was saved first."""


class LinkWish(Schema):
    model_config = ConfigDict(
        extra="forbid", **example_config(query=LINK["query"], title=LINK["title"], days=DEFAULT_DAYS)
    )

    query: str
    """Everything after the question mark of the Compare page's address."""
    title: str = ""
    """What visitors read above it."""
    days: Annotated[int, Field(ge=1, le=365)] = DEFAULT_DAYS
    """After so many days it opens nothing any more."""


class LinkAnswer(Answer):
    model_config = example_config(**LINK)

    id: int
    """Its number."""
    title: str
    """What visitors read above it."""
    query: str
    """The view that it opens; tags were replaced by their studies."""
    prefix: str
    """How the secret begins: the rest is not kept."""
    owner: str
    """Who shared it."""
    created: datetime
    """When it was shared."""
    expires: datetime
    """When it stops working."""


class LinkMade(LinkAnswer):
    model_config = example_config(**LINK, url="https://lab.example/shared/Xh3k9Qp1sT0vNn2bYw7aLd4cRf6gJm8e")

    url: str
    """The address to give away. It is told only now."""
