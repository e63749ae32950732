"""A study while it is written, as form or as YAML: every problem, what it would launch, and the runs it would have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings

from experiments.labels.axes import axis_values
from experiments.labels.names import axis_title
from experiments.models import User
from experiments.queue.services.runs import best_by_hash, live_runs
from experiments.studies.editor.clone import Change, study_changes
from experiments.studies.editor.misfits import Misfits, block_misfits, block_notes
from experiments.studies.editor.source import (
    is_too_long,
    line_of_path,
    read_study_text,
    rewrite_yaml,
    yaml_from_study,
)
from experiments.studies.services.definition import StudyDefinition, definition_plan, parse_definition
from experiments.studies.services.launch import Plan, hashes_of
from workers.errors import TributaryError
from workers.spec import PlannedRun, count_runs, expand
from workers.spec.grid import block_problems


@dataclass(frozen=True)
class Draft:
    study: dict[str, Any]
    yaml: str
    plan: Plan | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)
    runs: list[int | None] = field(default_factory=list)
    misfits: list[Misfits] = field(default_factory=list)
    notes: list[dict[str, str]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


@dataclass(frozen=True)
class DraftRequest:
    """What the page asks: the study as data or as `text`; `written` is the text that the form started from."""

    study: Mapping[str, Any] | None = None
    text: str | None = None
    written: str | None = None
    like: Mapping[str, Any] | None = None
    calibrate: bool = False


def check_draft(owner: User, request: DraftRequest) -> Draft:
    """Errors are part of the answer, because a draft is allowed to be wrong, or nameless."""
    study, lines, plan, errors = dict(request.study or {}), None, None, []
    try:
        if request.text is not None:
            written = read_study_text(request.text)
            study, lines = written.study, written.lines
        definition = parse_definition({"name": "", **study})
        plan = definition_plan(owner=owner, definition=definition, calibrate=request.calibrate)
        errors = [asdict(problem) for problem in plan.missing]
    except TributaryError as error:
        errors = error_list(error)
    blocks = study["blocks"] if isinstance(study.get("blocks"), list) else []
    text = draft_text(request, study)
    if errors and request.text is None:
        lines = text_lines(text)
    return Draft(
        study=study,
        yaml=text,
        plan=plan,
        errors=[{**each, "line": line_of_path(lines or {}, each["path"])} for each in errors],
        runs=[block_size(block) for block in blocks],
        misfits=[block_misfits(block) for block in blocks],
        notes=[block_notes(block) for block in blocks],
        changes=study_changes(request.like, study) if request.like is not None else [],
    )


def text_lines(text: str) -> dict[str, int]:
    """Of a text that the form made; none where it says nothing yet, or too much."""
    try:
        return read_study_text(text).lines
    except TributaryError:
        return {}


def draft_text(request: DraftRequest, study: Mapping[str, Any]) -> str:
    if request.text is not None:
        return request.text
    if not request.written or is_too_long(request.written):
        return yaml_from_study(study)
    return rewrite_yaml(request.written, study)


def error_list(error: TributaryError) -> list[dict[str, Any]]:
    return [asdict(problem) for problem in error.errors] or [{"path": "", "message": error.detail}]


def block_size(block: Any) -> int | None:
    """How many runs one block has; None where that cannot be said yet."""
    return None if any(block_problems(block, "")) else count_runs(block)


PAGE = 50


@dataclass(frozen=True)
class PreviewRow:
    """One planned run; `run` and `state` where it exists already."""

    number: int
    values: tuple[str, ...]
    seed: int
    run: int | None
    state: str


@dataclass(frozen=True)
class Preview:
    columns: tuple[str, ...]
    rows: tuple[PreviewRow, ...]
    total: int
    page: int
    pages: int

    @property
    def first(self) -> int:
        return (self.page - 1) * PAGE + 1

    @property
    def last(self) -> int:
        return min(self.page * PAGE, self.total)


def preview_runs(definition: StudyDefinition, page: int) -> Preview:
    runs = expand(definition.blocks, limit=settings.MAX_RUNS).runs
    pages = -(-len(runs) // PAGE)
    page = max(1, min(page, pages))
    page_runs = runs[(page - 1) * PAGE : page * PAGE]
    axes = varying_axes(runs)
    existing = existing_runs(page_runs, definition.requires) if definition.reuse else {}
    rows = [
        PreviewRow(
            number=(page - 1) * PAGE + place,
            values=tuple(words[run.cell] for words in axes.values()),
            seed=run.spec.seed,
            run=existing.get(run.hash, (None, ""))[0],
            state=existing.get(run.hash, (None, "new"))[1],
        )
        for place, run in enumerate(page_runs, start=1)
    ]
    return Preview(tuple(map(axis_title, axes)), tuple(rows), len(runs), page, pages)


def varying_axes(runs: Sequence[PlannedRun]) -> dict[str, dict[str, str]]:
    """Each axis with its value in words for every cell; seeds of a cell have the same."""
    return axis_values({run.cell: run.spec.model_dump(mode="json") for run in runs}, wording="column")


def existing_runs(runs: Sequence[PlannedRun], requires: str) -> dict[str, tuple[int | None, str]]:
    live = live_runs(hashes_of(runs), requires).only("pk", "hash", "state", "requires")
    return {run_hash: (run.pk, run.state) for run_hash, run in best_by_hash(live, requires).items()}
