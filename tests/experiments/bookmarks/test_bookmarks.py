"""Pins at the top of home, and starred cells."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.bookmarks.selectors import baseline_rows, pinned_studies
from experiments.bookmarks.services import baseline_star, baseline_unstar, study_pin, study_unpin
from experiments.core.errors import NotAllowedError
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import AuditEntry, Baseline, Pin, Study, User
from experiments.studies.services.changes import study_archive
from experiments.studies.services.deletion import study_delete
from tests.experiments import lab
from workers.errors import SpecError


def test_a_person_pins_for_themselves_viewers_too(study: Study, viewer: User, stranger: User) -> None:
    study_pin(study=study, actor=viewer)
    study_pin(study=study, actor=viewer)
    assert Pin.objects.count() == 1
    assert pinned_studies(person=viewer) == [study]
    assert pinned_studies(person=stranger) == []
    study_unpin(study=study, actor=stranger)
    assert pinned_studies(person=viewer) == [study]
    study_unpin(study=study, actor=viewer)
    assert pinned_studies(person=viewer) == []


def test_an_admin_pins_for_everyone_and_it_is_written_down(study: Study, admin: User, viewer: User) -> None:
    with pytest.raises(NotAllowedError):
        study_pin(study=study, actor=viewer, for_all=True)
    study_pin(study=study, actor=admin, for_all=True)
    study_pin(study=study, actor=admin, for_all=True)
    study_pin(study=study, actor=viewer)
    assert pinned_studies(person=viewer) == [study]
    assert list(AuditEntry.objects.filter(action="pin.create").values_list("actor_name", flat=True)) == ["boss"]
    study_unpin(study=study, actor=admin, for_all=True)
    assert AuditEntry.objects.filter(action="pin.delete").count() == 1


def test_pinned_studies_are_at_the_top_of_home_unless_they_are_put_away(as_owner: Client, study: Study) -> None:
    as_owner.post(f"/studies/{study.pk}/pins/pin", {"next": "/"})
    page = as_owner.get("/").content.decode()
    assert page.index('id="pinned-title"') < page.index('id="at-work-title"')
    study_archive(study=study, actor=study.owner)
    assert 'id="pinned-title"' not in as_owner.get("/").content.decode()


def test_rest_pins_and_lists(as_owner: Client, study: Study) -> None:
    address = f"/api/v1/studies/{study.pk}/pin"
    assert as_owner.put(address).json()["for_all"] is False
    assert as_owner.put(f"{address}?for_all=true").status_code == 403
    assert [(each["study"], each["name"]) for each in as_owner.get("/api/v1/pins").json()["items"]] == [
        (study.pk, "Two strategies")
    ]
    assert as_owner.delete(address).status_code == 204
    assert as_owner.get("/api/v1/pins").json()["count"] == 0


def test_who_manages_a_study_stars_its_cells(study: Study, stranger: User, admin: User) -> None:
    cell = lab.runs_in_order(study)[0].cell
    with pytest.raises(NotAllowedError):
        baseline_star(study=study, cell=cell, actor=stranger)
    with pytest.raises(SpecError, match="cannot be starred"):
        baseline_star(study=study, cell="nothing", actor=study.owner)
    baseline = baseline_star(study=study, cell=cell, actor=study.owner)
    assert baseline_star(study=study, cell=cell, actor=admin) == baseline
    (row,) = baseline_rows(Baseline.objects.all())
    assert (row.statistics.mean, row.statistics.n) == (pytest.approx(0.9), 3)
    with pytest.raises(NotAllowedError):
        baseline_unstar(baseline=baseline, actor=stranger)
    baseline_unstar(baseline=baseline, actor=admin)
    actions = list(AuditEntry.objects.filter(action__startswith="baseline").values_list("action", flat=True))
    assert sorted(actions) == ["baseline.star", "baseline.unstar"]


def test_the_study_page_stars_a_cell_and_says_so(browsers: dict[str, Client], study: Study) -> None:
    cell = lab.runs_in_order(study)[0].cell
    browsers["owner"].post(f"/studies/{study.pk}/baselines/star", {"cell": cell})
    page = browsers["viewer"].get(f"/studies/{study.pk}").content.decode()
    assert page.count('<span class="chip">baseline</span>') == 1
    assert "as a baseline</span>" not in page
    browsers["owner"].post(f"/studies/{study.pk}/baselines/unstar", {"cell": cell})
    assert Baseline.objects.count() == 0


def test_rest_stars_and_lists_with_the_number_behind(as_owner: Client, study: Study) -> None:
    cell = lab.runs_in_order(study)[0].cell
    address = f"/api/v1/studies/{study.pk}/baselines/{cell}"
    assert as_owner.put(address).json()["n"] == 3
    (item,) = as_owner.get("/api/v1/baselines").json()["items"]
    assert (item["study"], item["cell"], item["mean"], item["starred_by"]) == (
        study.pk,
        cell,
        pytest.approx(0.9),
        "owner",
    )
    assert as_owner.put(f"/api/v1/studies/{study.pk}/baselines/abc").status_code == 422
    assert as_owner.delete(address).status_code == 204
    assert as_owner.delete(address).status_code == 404


def test_pins_and_stars_go_with_their_study(study: Study) -> None:
    study_pin(study=study, actor=study.owner)
    baseline_star(study=study, cell=lab.runs_in_order(study)[0].cell, actor=study.owner)
    study_delete(study=study, actor=study.owner)
    jobs_carry_out()
    assert (Pin.objects.count(), Baseline.objects.count()) == (0, 0)
