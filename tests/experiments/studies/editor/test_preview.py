from __future__ import annotations

from experiments.models import User
from experiments.studies.editor.draft import preview_runs
from experiments.studies.services.definition import StudyDefinition
from tests.experiments import lab


def definition(**changes: object) -> StudyDefinition:
    return StudyDefinition(name="x", blocks=[{**lab.BLOCK, **changes}])


def test_each_run_is_a_row_with_what_varies(owner: User) -> None:
    preview = preview_runs(definition(clients=[3, 4], seeds=2), 1)
    assert preview.columns == ("strategy", "clients")
    assert [(row.number, row.values, row.seed, row.state) for row in preview.rows[:3]] == [
        (1, ("FedAvg", "3"), 0, "new"),
        (2, ("FedAvg", "3"), 1, "new"),
        (3, ("FedAvg", "4"), 0, "new"),
    ]
    assert preview.rows[-1].values == ("FedProx (μ = 0.1)", "4")
    assert (preview.total, preview.pages, preview.first, preview.last) == (8, 1, 1, 8)


def test_a_run_that_exists_is_named_with_its_state(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner, seeds=1))
    lab.moved(runs[1], lab.RunState.DONE)
    rows = preview_runs(definition(seeds=2), 1).rows
    assert [(row.run, row.state) for row in rows] == [
        (runs[0].pk, "queued"),
        (None, "new"),
        (runs[1].pk, "done"),
        (None, "new"),
    ]
    alone = StudyDefinition(name="x", blocks=[lab.BLOCK], reuse=False)
    assert {row.state for row in preview_runs(alone, 1).rows} == {"new"}


def test_pages_are_of_fifty_and_a_page_too_far_is_the_last(owner: User) -> None:
    long = definition(seeds=30)
    assert [row.number for row in preview_runs(long, 2).rows] == list(range(51, 61))
    assert preview_runs(long, 99).page == 2
    assert preview_runs(long, -1).page == 1
