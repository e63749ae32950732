"""What an owner does on a study's page, and what others are not offered."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Run, RunState, Study, User
from tests.experiments import lab


def page(client: Client, study: Study) -> str:
    return client.get(f"/studies/{study.pk}").content.decode()


def test_name_tags_and_description_are_edited(as_owner: Client, study: Study) -> None:
    data = {"name": " Better ", "tags": "label skew, , digits,label skew", "description": "Why <b>not</b>?\n\nSo."}
    answer = as_owner.post(f"/studies/{study.pk}/edit", data, follow=True)
    study.refresh_from_db()
    assert (study.name, study.tags) == ("Better", ["label skew", "digits"])
    said = answer.content.decode()
    assert "<p>Why &lt;b&gt;not&lt;/b&gt;?</p>" in said
    assert '<a class="chip tag" href="/?tag=label%20skew">label skew</a>' in said


def test_what_cannot_be_is_told_and_nothing_changes(as_owner: Client, study: Study) -> None:
    answer = as_owner.post(f"/studies/{study.pk}/edit", {"name": " ", "tags": "x" * 51}, follow=True)
    said = answer.content.decode()
    assert "Nothing was changed. Name: A study needs a name. Tags: At most 50 characters a tag." in said
    study.refresh_from_db()
    assert (study.name, study.tags) == ("Two strategies", [])


@pytest.mark.parametrize("who", ["stranger", "viewer"])
def test_others_edit_archive_and_delete_nothing(browsers: dict[str, Client], study: Study, who: str) -> None:
    client = browsers[who]
    client.post(f"/studies/{study.pk}/edit", {"name": "Mine"})
    client.post(f"/studies/{study.pk}/archive")
    client.post(f"/studies/{study.pk}/delete")
    study.refresh_from_db()
    assert (study.name, study.archived) == ("Two strategies", None)
    assert client.get(f"/studies/{study.pk}/deletion").status_code == 403
    said = page(client, study)
    for offer in ("data-opens", "/archive", "/deletion", "/retry"):
        assert offer not in said


def test_it_is_archived_and_brought_back(as_owner: Client, study: Study) -> None:
    as_owner.post(f"/studies/{study.pk}/archive")
    assert "<strong>Archived</strong> on" in page(as_owner, study)
    as_owner.post(f"/studies/{study.pk}/restore")
    study.refresh_from_db()
    assert study.archived is None


def test_a_deletion_says_exactly_what_goes_and_what_stays(as_owner: Client, study: Study, stranger: User) -> None:
    lab.launched(stranger, "Half of it", strategy={"name": "fedavg"})
    said = as_owner.get(f"/studies/{study.pk}/deletion", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in said
    assert "<strong>3 runs</strong> that only this study holds: 1 queued, 1 running, 1 failed</li>" in said
    assert "2 stored rounds of them" in said
    assert "<strong>3 runs</strong>, because other studies hold them:" in said
    assert "Half of it</a> of stranger: 3 runs" in said
    as_owner.post(f"/studies/{study.pk}/delete", {"expected": "3"})
    assert (Study.objects.count(), Run.objects.count()) == (1, 3)


def test_a_deletion_is_a_page_of_its_own_too(as_owner: Client, study: Study) -> None:
    said = as_owner.get(f"/studies/{study.pk}/deletion").content.decode()
    assert "<html" in said
    assert "Nothing: no other study holds any of its runs." in said


def test_what_changed_since_it_was_confirmed_is_not_deleted(as_owner: Client, study: Study) -> None:
    said = as_owner.post(f"/studies/{study.pk}/delete", {"expected": "2"}, follow=True).content.decode()
    assert "Nothing was deleted: 6 runs would go by now, not 2." in said
    assert Study.objects.count() == 1


def test_failures_of_one_reason_are_retried_alone(as_owner: Client, study: Study) -> None:
    runs = lab.runs_in_order(study)
    lab.moved(runs[5], RunState.FAILED, "Disk full")
    said = page(as_owner, study)
    assert 'name="reason" value="Out of memory."' in said
    as_owner.post(f"/studies/{study.pk}/retry", {"reason": "Out of memory."})
    assert [Run.objects.get(pk=run.pk).state for run in runs[4:]] == ["queued", "failed"]


def test_it_leads_to_what_it_varies_and_to_its_variations(as_owner: Client, study: Study) -> None:
    child = lab.launched(study.owner, "Longer", rounds=9)
    Study.objects.filter(pk=child.pk).update(parent=study)
    assert f'the same but … as <a href="/studies/{study.pk}">Two strategies</a>' in page(as_owner, child)
    assert f'varied in <a href="/studies/{child.pk}">Longer</a>' in page(as_owner, study)
    assert f"/studies/new?from={study.pk}" in page(as_owner, study)


def test_the_figure_takes_log_axes_and_smoothing(as_owner: Client, study: Study) -> None:
    answer = as_owner.get(
        f"/studies/{study.pk}/figure", {"metric": "loss", "band": "none", "y": "log", "smooth": "0.6"}
    ).json()
    assert answer["layout"]["yaxis"]["type"] == "log"
    assert [trace["mode"] for trace in answer["data"]] == ["lines", "markers"] * 2
    assert answer["data"][1]["y"] == [2.0, 1.0, 0.5]
    assert "points: as measured" in answer["notes"]


def test_more_runs_and_cells_ask_no_more_questions(
    as_owner: Client, owner: User, django_assert_max_num_queries: object
) -> None:
    study = lab.launched(owner, "Wide", strategy={"name": "fedprox", "mu": [0.1, 0.2, 0.3, 0.4]}, seeds=4)
    for run in lab.runs_in_order(study):
        lab.record(run, {"accuracy": [0.1, 0.2], "loss": [1.0, 0.5], "f1": [0.1, 0.2]})
    with django_assert_max_num_queries(18):  # type: ignore[operator]
        as_owner.get(f"/studies/{study.pk}")


def test_runs_are_paged_without_the_rest_of_the_page(
    as_owner: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.results.selectors.runs.PAGE", 2)
    runs = [run.pk for run in lab.runs_in_order(study)]
    part = as_owner.get(f"/studies/{study.pk}/runs?page=2").content.decode()
    assert [pk for pk in runs if f'id="run-{pk}"' in part] == runs[2:4]
    assert part.count("<section") == 1
    assert 'name="page" value="2"' in part
    assert f'hx-get="/studies/{study.pk}/runs?state=&amp;page=3" hx-replace-url="?state=&amp;page=3"' in part
    assert "Earlier runs" in part
    assert as_owner.get("/studies/999999/runs").status_code == 404
