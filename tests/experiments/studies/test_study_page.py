"""What an owner does on a study's page, and what others are not offered."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from experiments.housekeeping.tasks import jobs_carry_out
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
    assert '<a class="chip tag" href="/studies?tag=label%20skew">label skew</a>' in said


def test_what_cannot_be_is_told_and_nothing_changes(as_owner: Client, study: Study) -> None:
    typed = {"name": " ", "tags": "x" * 51, "description": "Long thoughts"}
    answer = as_owner.post(f"/studies/{study.pk}/edit", typed)
    said = answer.content.decode()
    assert answer.status_code == 422
    assert "</strong> Name: A study needs a name. Tags: At most 50 characters a tag." in said
    assert f'value="{"x" * 51}"' in said
    assert ">Long thoughts</textarea>" in said
    study.refresh_from_db()
    assert (study.name, study.tags) == ("Two strategies", [])


def version(said: str) -> str:
    found = re.search(r'name="version" value="([0-9a-f]{16})"', said)
    assert found
    return found[1]


def test_of_two_who_edit_at_once_the_second_loses_nothing_and_overwrites_nothing(
    as_owner: Client, browsers: dict[str, Client], study: Study
) -> None:
    edit = f"/studies/{study.pk}/edit"
    as_admin = browsers["admin"]
    mine, theirs = version(page(as_owner, study)), version(page(as_admin, study))
    as_admin.post(edit, {"name": "Theirs", "tags": "seen", "description": "", "version": theirs})
    typed = {"name": "Two strategies", "tags": "", "description": "My <notes>", "version": mine}
    answer = as_owner.post(edit, typed)
    said = answer.content.decode()
    assert answer.status_code == 409
    assert "Somebody changed this study after you opened it. Nothing was overwritten." in said
    assert "<dt>Name</dt><dd>Theirs</dd><dt>Tags</dt><dd>seen</dd>" in said
    assert ">My &lt;notes&gt;</textarea>" in said
    study.refresh_from_db()
    assert (study.name, study.tags, study.description) == ("Theirs", ["seen"], "")
    assert as_owner.post(edit, {**typed, "version": version(said)}).status_code == 302
    study.refresh_from_db()
    assert (study.name, study.tags, study.description) == ("Two strategies", [], "My <notes>")


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
    jobs_carry_out()
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
    assert f'hx-get="/studies/{study.pk}/runs?page=3" hx-replace-url="?page=3"' in part
    assert "Earlier runs" in part
    assert as_owner.get("/studies/999999/runs").status_code == 404


def order_in(said: str, part: str, ids: list[str]) -> list[str]:
    """Those of the ids that are in that part of the page, as they follow each other."""
    section = said.partition(f'id="{part}"')[2].partition("</section>")[0]
    return sorted((each for each in ids if f'id="{each}"' in section), key=lambda each: section.index(f'id="{each}"'))


def test_runs_are_sorted_and_found_and_the_address_keeps_it(as_owner: Client, study: Study) -> None:
    runs = lab.runs_in_order(study)
    ids = [f"run-{run.pk}" for run in runs]
    by_loss = as_owner.get(f"/studies/{study.pk}?run_column=accuracy&run_column=loss&run_sort=-accuracy")
    said = by_loss.content.decode()
    assert order_in(said, "study-runs", ids)[:4] == [ids[2], ids[1], ids[0], ids[3]]
    assert (
        'aria-sort="descending"><a class="sort" href="?run_column=accuracy&amp;run_column=loss&amp;run_sort=accuracy"'
        in said
    )
    assert '<input type="hidden" name="run_sort" value="-accuracy">' in said
    fedprox = as_owner.get(f"/studies/{study.pk}?run_find=prox&run_sort=-seed").content.decode()
    assert order_in(fedprox, "study-runs", ids) == [ids[5], ids[4], ids[3]]
    assert "No run fits this search." in as_owner.get(f"/studies/{study.pk}?run_find=nothing").content.decode()


def test_cells_are_sorted_and_found_and_have_the_columns_that_were_chosen(as_owner: Client, study: Study) -> None:
    first, last = (f"cell-{lab.runs_in_order(study)[place].cell[:16]}" for place in (0, 5))
    said = page(as_owner, study)
    assert order_in(said, "study-cells", [first, last]) == [first, last]
    assert "Test loss" not in said.partition('id="study-cells"')[2].partition("<tbody>")[0].partition("<thead>")[2]
    chosen = as_owner.get(f"/studies/{study.pk}?cell_column=loss&cell_sort=-cell").content.decode()
    assert order_in(chosen, "study-cells", [first, last]) == [last, first]
    assert "0.5000 ± 0.0000" in chosen
    found = as_owner.get(f"/studies/{study.pk}?cell_find=PROX").content.decode()
    assert order_in(found, "study-cells", [first, last]) == [last]
    assert "1 of 2 fit the search." in found


def test_its_best_cell_and_one_primary_action_stand_above_the_chart(as_owner: Client, study: Study) -> None:
    for run in lab.runs_in_order(study)[3:]:
        run.curve_blocks.all().delete()
        run.rounds.all().delete()
        lab.record(run, {"accuracy": [0.1, 0.2, 0.3]})
    line = page(as_owner, study).partition('class="study-line"')[2].partition("</section>")[0]
    assert "<strong>90.00 ± 10.00 %</strong> best accuracy · " in line
    assert line.count("button primary") == 1
    assert f'<a class="button primary" href="/compare?study={study.pk}">Compare</a>' in line


@pytest.mark.parametrize(
    "odd", ["run_sort=spec", "cell_sort=-x", "run_column=nothing", "cell_find=%00", "run_find=%F0"]
)
def test_whatever_stands_in_the_address_it_answers(as_owner: Client, study: Study, odd: str) -> None:
    assert as_owner.get(f"/studies/{study.pk}?{odd}").status_code == 200
