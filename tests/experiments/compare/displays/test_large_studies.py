"""A study with more cells or numbers than a table takes: its charts, and a word instead of the tables."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from experiments.compare.displays import subject as subjects
from experiments.compare.displays.offers import displays_for
from experiments.compare.displays.subject import subject_of
from experiments.models import Study, User
from tests.experiments import lab


@pytest.fixture
def study(owner: User) -> Study:
    """Two cells of three runs with 11 rounds."""
    made = lab.launched(owner, rounds=10)
    for run in lab.runs_in_order(made):
        lab.record(run, {"accuracy": [number / 20 for number in range(11)]})
    return made


def table_count(study: Study) -> int:
    return sum(len(display.tables) for display in displays_for(subject_of(study)))


@pytest.mark.parametrize(("name", "limit"), [("MOST_TABLE_CELLS", 1), ("MOST_TABLE_VALUES", 59)])
def test_tables_of_a_large_study_are_left_out_and_the_page_says_so(
    as_owner: Client, study: Study, monkeypatch: pytest.MonkeyPatch, name: str, limit: int
) -> None:
    assert table_count(study) == 6
    assert "choose some of them in Compare" not in as_owner.get(f"/studies/{study.pk}/displays").content.decode()
    monkeypatch.setattr(subjects, name, limit)
    assert table_count(study) == 0
    page = as_owner.get(f"/studies/{study.pk}/displays").content.decode()
    assert "<strong>2 cells</strong> with all their runs are more than a table here takes" in page
    assert "<table" not in page


def test_curves_are_read_once_however_many_tables_ask_for_them(study: Study) -> None:
    """Accuracy for three tables, and once more together with bytes for convergence."""
    with CaptureQueriesContext(connection) as queries:
        displays_for(subject_of(study))
    assert sum("LIKE ANY" in each["sql"] for each in queries.captured_queries) == 2
