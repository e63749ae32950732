"""The table of studies: search, filters and order in the address, pages."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import RunState, Study, User
from experiments.studies.selectors.study_list import dataset_counts
from experiments.studies.services.changes import study_archive, study_pause
from tests.experiments import lab


@pytest.fixture
def three(owner: User, stranger: User) -> list[Study]:
    """The owner's two, one of them archived, and the stranger's."""
    rivers = lab.launched(owner, "Rivers")
    lakes = lab.launched(owner, "Lakes", rounds=3)
    seas = lab.launched(stranger, "Seas", rounds=4)
    Study.objects.filter(pk=rivers.pk).update(tags=["water", "flowing"])
    Study.objects.filter(pk=seas.pk).update(tags=["water", "salt & deep"])
    study_archive(study=lakes, actor=owner)
    return [rivers, lakes, seas]


def listed(client: Client, **choices: str) -> list[str]:
    return [row.study.name for row in client.get("/studies", choices).context["rows"]]


def test_archived_studies_are_listed_only_when_asked_for(as_owner: Client, three: list[Study]) -> None:
    assert listed(as_owner) == ["Seas", "Rivers"]
    assert listed(as_owner, archived="yes") == ["Lakes"]


def test_it_lists_ones_own(as_owner: Client, three: list[Study]) -> None:
    assert listed(as_owner, owner="owner") == ["Rivers"]


def test_it_lists_what_has_a_tag(as_owner: Client, three: list[Study]) -> None:
    assert listed(as_owner, tag="water") == ["Seas", "Rivers"]
    assert listed(as_owner, tag="salt & deep") == ["Seas"]
    assert listed(as_owner, tag="wat") == []


def test_choices_narrow_one_another_and_links_keep_them(as_owner: Client, three: list[Study]) -> None:
    answer = as_owner.get("/studies", {"q": "seas", "tag": "water"})
    assert [row.study.name for row in answer.context["rows"]] == ["Seas"]
    assert answer.context["links"]["mine"] == "?q=seas&tag=water&owner=owner"
    assert answer.context["links"]["any_tag"] == "?q=seas"
    assert "?q=seas&amp;tag=salt%20%26%20deep" in answer.content.decode()
    assert listed(as_owner, q="seas", owner="owner") == []


def test_tags_are_offered_by_how_often_they_are_used(as_owner: Client, three: list[Study]) -> None:
    tags = as_owner.get("/studies").context["tags"]
    assert tags == [("water", 2), ("flowing", 1), ("salt & deep", 1)]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"tag": "nothing"}, "Nothing is tagged “nothing”"),
        ({"archived": "yes"}, "Nothing is archived"),
        ({"owner": "stranger"}, "You have no studies yet"),
        ({"q": "nowhere"}, "No study matches “nowhere”"),
        ({"page": "2"}, "No more studies"),
    ],
)
def test_an_empty_list_says_why(browsers: dict[str, Client], study: Study, choices: dict[str, str], words: str) -> None:
    assert words in browsers["stranger"].get("/studies", choices).content.decode()


def test_it_goes_on_page_by_page(as_owner: Client, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 3):
        lab.launched(owner, f"Study {number}", rounds=number)
    monkeypatch.setattr("experiments.studies.selectors.study_list.PAGE", 2)
    first = as_owner.get("/studies", {"owner": "owner", "sort": "name"})
    assert [row.study.name for row in first.context["rows"]] == ["Study 1", "Study 2"]
    assert 'href="?owner=owner&amp;sort=name&amp;page=2"' in first.content.decode()
    assert "1–2 of 3" in first.content.decode()
    assert listed(as_owner, owner="owner", sort="name", page="2") == ["Study 3"]


def test_it_lists_studies_on_a_data_set_however_their_blocks_write_it(as_owner: Client, owner: User) -> None:
    for number, dataset in enumerate(
        [{"name": "digits"}, [{"name": "blobs"}, {"name": "digits"}], {"name": ["digits", "blobs"]}, {"name": "blobs"}]
    ):
        lab.launched(owner, f"Study {number}", dataset=dataset, model={"name": "mlp-50"})
    assert listed(as_owner, dataset="digits") == ["Study 2", "Study 1", "Study 0"]
    assert dataset_counts() == {"blobs": 3, "digits": 3}
    assert listed(as_owner, dataset="mnist") == []


def test_it_lists_by_state_as_the_rows_have_it(as_owner: Client, study: Study, owner: User) -> None:
    failed, done, paused = (lab.launched(owner, name, rounds=n) for name, n in (("F", 3), ("D", 4), ("P", 5)))
    for run in lab.runs_in_order(done):
        lab.moved(run, RunState.DONE)
    for run in lab.runs_in_order(failed):
        lab.moved(run, RunState.FAILED, "Disk full")
    study_pause(study=paused, actor=owner)
    lab.launched(owner, "Q", rounds=6)
    rows = as_owner.get("/studies").context["rows"]
    assert {row.study.name: row.progress.state for row in rows} == {
        "Q": "queued", "P": "paused", "D": "done", "F": "failed", "Two strategies": "running",
    }  # fmt: skip
    for row in rows:
        assert listed(as_owner, state=row.progress.state) == [row.study.name]


def test_it_is_sorted_by_what_the_address_says_and_the_newest_first_among_equals(
    as_owner: Client, owner: User, stranger: User
) -> None:
    for number, (who, name, value) in enumerate([(owner, "b", 0.5), (stranger, "a", 0.75), (owner, "C", 0.25)]):
        made = lab.launched(who, name, rounds=3 + number)
        lab.record(lab.runs_in_order(made)[0], {"accuracy": [0.1, value]})
    lab.launched(owner, "without a value", rounds=9)
    assert listed(as_owner) == ["without a value", "C", "a", "b"]
    assert listed(as_owner, sort="created") == ["b", "a", "C", "without a value"]
    assert listed(as_owner, sort="name") == ["a", "b", "C", "without a value"]
    assert listed(as_owner, sort="-best") == ["a", "b", "C", "without a value"]
    assert listed(as_owner, sort="best") == ["C", "b", "a", "without a value"]
    assert listed(as_owner, sort="owner") == ["without a value", "C", "b", "a"]
    assert listed(as_owner, sort="nonsense") == listed(as_owner)


def test_columns_lead_to_their_order_and_keep_the_filters(as_owner: Client, three: list[Study]) -> None:
    page = as_owner.get("/studies", {"tag": "water", "sort": "name"})
    columns = {column.name: (column.address, column.order) for column in page.context["columns"]}
    assert columns["name"] == ("?tag=water&sort=-name", "ascending")
    assert columns["best"] == ("?tag=water&sort=-best", "")
    assert columns["created"] == ("?tag=water", "")
    assert 'aria-sort="ascending"' in page.content.decode()


def test_a_row_has_its_headline_its_data_set_and_its_curve(as_owner: Client, study: Study) -> None:
    (row,) = as_owner.get("/studies").context["rows"]
    # Rounds 0, 1 and 2 of fedavg's three seeds: 0.1, 0.5, and 0.8, 0.9, 1.0.
    assert (row.datasets, row.curve) == (("digits",), (0.1, 0.5, pytest.approx(0.9)))
    assert (row.best.mean, row.best.n, row.method) == (pytest.approx(0.9), 3, "FedAvg · IID")


def test_more_studies_ask_no_more_questions(
    as_owner: Client, owner: User, django_assert_max_num_queries: object
) -> None:
    for number in range(6):
        study = lab.launched(owner, f"Study {number}", rounds=3 + number)
        Study.objects.filter(pk=study.pk).update(tags=["x", f"t{number}"])
    with django_assert_max_num_queries(17):  # type: ignore[operator]
        as_owner.get("/studies", {"owner": "owner", "tag": "x", "q": "study"})
