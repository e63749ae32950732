"""What the files of an archive say, each value of the kind that pages rely on."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from experiments.labels.axes import axes_text
from experiments.results.models import LAUNCHED_WITH
from experiments.studies.services.definition import is_deep
from experiments.study_archives.archive_file import ArchiveError
from workers.spec.stored import stored_spec_problems

LARGEST_NUMBER = 2**31 - 1
Count = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
Identity = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Word = Annotated[str, StringConstraints(max_length=16)]
MetricName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
ClientNumber = Annotated[str, StringConstraints(pattern=r"^-?\d{1,9}$")]
ClientValue = float | Annotated[str, StringConstraints(max_length=100)] | None
Moment = str | None


class Content(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class ArchivedNote(Content):
    author: str
    text: str
    created: Moment


class ArchivedStudy(Content):
    name: Annotated[str, StringConstraints(min_length=1)]
    description: str
    tags: list[str]
    blocks: list[dict[str, Any]]
    source: str
    origin: str
    requires: Literal["cpu", "gpu"]
    runs: Count
    notes: list[ArchivedNote]

    @field_validator("blocks")
    @classmethod
    def require_readable_blocks(cls, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if any(map(is_deep, blocks)):
            raise ValueError("a block is nested too deeply")
        try:
            axes_text(blocks)
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"what varies cannot be read ({error})") from None
        return blocks


class ArchivedRun(Content):
    hash: Identity
    cell: Identity
    spec: dict[str, Any]
    seed: Count
    shared: bool
    state: Literal["done", "failed", "cancelled"]
    rounds_done: Count
    rounds_total: Count
    engine: Word
    requires: Literal["cpu", "gpu"]
    device_type: Word
    provenance: dict[str, Any]
    findings: dict[str, Any]
    reason: str
    started: Moment
    finished: Moment
    notes: list[ArchivedNote]

    @field_validator("spec")
    @classmethod
    def require_readable_spec(cls, spec: dict[str, Any]) -> dict[str, Any]:
        if is_deep(spec):
            raise ValueError("it is nested too deeply")
        if problems := stored_spec_problems(spec):
            raise ValueError(f"{problems[0].path}: {problems[0].message}")
        return spec

    @field_validator("provenance")
    @classmethod
    def require_readable_provenance(cls, provenance: dict[str, Any]) -> dict[str, Any]:
        if is_deep(provenance):
            raise ValueError("it is nested too deeply")
        if odd := [name for name in ("packages", LAUNCHED_WITH) if not isinstance(provenance.get(name, {}), dict)]:
            raise ValueError(f"{odd[0]} names nothing")
        return provenance

    @field_validator("findings")
    @classmethod
    def require_readable_findings(cls, findings: dict[str, Any]) -> dict[str, Any]:
        if is_deep(findings):
            raise ValueError("it is nested too deeply")
        matrix = findings.get("confusion") or []
        if not isinstance(matrix, list) or not all(is_row(row, len(matrix)) for row in matrix):
            raise ValueError("confusion is no square matrix of numbers")
        return findings


def is_row(row: Any, length: int) -> bool:
    return isinstance(row, list) and len(row) == length and all(isinstance(each, int | float) for each in row)


class ArchivedRound(Content):
    round: Count
    metrics: dict[MetricName, float]
    cohort: list[int]
    clients: dict[ClientNumber, dict[str, ClientValue]]
    committed: Moment


Kind = TypeVar("Kind", bound=Content)


def read_content(kind: type[Kind], data: Any, name: str) -> Kind:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ArchiveError(f"{name} cannot be used ({place}: {first['msg']}): nothing was imported.") from None
