"""The list of studies: search, tags, whose, archived, pages."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Study, User
from experiments.studies.selectors import studies as reads
from experiments.studies.services.changes import study_archive
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
    return [row.study.name for row in client.get("/", choices).context["rows"]]


def test_archived_studies_are_listed_only_when_asked_for(as_owner: Client, three: list[Study]) -> None:
    assert listed(as_owner) == ["Seas", "Rivers"]
    assert listed(as_owner, archived="yes") == ["Lakes"]


def test_it_lists_ones_own(as_owner: Client, three: list[Study]) -> None:
    assert listed(as_owner, who="mine") == ["Rivers"]


def test_it_lists_what_has_a_tag(as_owner: Client, three: list[Study]) -> None:
    assert listed(as_owner, tag="water") == ["Seas", "Rivers"]
    assert listed(as_owner, tag="salt & deep") == ["Seas"]
    assert listed(as_owner, tag="wat") == []


def test_choices_narrow_one_another_and_links_keep_them(as_owner: Client, three: list[Study]) -> None:
    answer = as_owner.get("/", {"q": "seas", "tag": "water"})
    assert [row.study.name for row in answer.context["rows"]] == ["Seas"]
    assert answer.context["links"]["mine"] == "?q=seas&tag=water&who=mine"
    assert answer.context["links"]["any_tag"] == "?q=seas"
    assert "?q=seas&amp;tag=salt%20%26%20deep" in answer.content.decode()
    assert listed(as_owner, q="seas", who="mine") == []


def test_tags_are_offered_by_how_often_they_are_used(as_owner: Client, three: list[Study]) -> None:
    tags = as_owner.get("/").context["tags"]
    assert tags == [("water", 2), ("flowing", 1), ("salt & deep", 1)]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"tag": "nothing"}, "Nothing is tagged “nothing”"),
        ({"archived": "yes"}, "Nothing is archived"),
        ({"who": "mine"}, "You have no studies yet"),
        ({"q": "nowhere"}, "No study matches “nowhere”"),
        ({"before": "1"}, "No older studies"),
    ],
)
def test_an_empty_list_says_why(browsers: dict[str, Client], study: Study, choices: dict[str, str], words: str) -> None:
    assert words in browsers["stranger"].get("/", choices).content.decode()


def test_it_goes_on_page_by_page(as_owner: Client, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    studies = [lab.launched(owner, f"Study {number}", rounds=number) for number in (1, 2, 3)]
    for module in ("experiments.studies.selectors.studies.PAGE", "experiments.studies.views.studies.PAGE"):
        monkeypatch.setattr(module, 2)
    first = as_owner.get("/", {"who": "mine"})
    assert [row.study.name for row in first.context["rows"]] == ["Study 3", "Study 2"]
    assert f'href="?who=mine&amp;before={studies[1].pk}"' in first.content.decode()
    assert listed(as_owner, who="mine", before=str(studies[1].pk)) == ["Study 1"]


def test_the_watched_study_gives_way_to_a_search(as_owner: Client, study: Study) -> None:
    assert as_owner.get("/").context["watched"].study == study
    assert as_owner.get("/", {"q": "strategies"}).context["watched"] is None


def test_an_archived_study_is_not_watched(as_owner: Client, study: Study) -> None:
    study_archive(study=study, actor=study.owner)
    assert reads.study_to_watch() is None
    assert ">Archived 1</a>" in as_owner.get("/").content.decode()


def test_more_studies_ask_no_more_questions(
    as_owner: Client, owner: User, django_assert_max_num_queries: object
) -> None:
    for number in range(6):
        study = lab.launched(owner, f"Study {number}", rounds=3 + number)
        Study.objects.filter(pk=study.pk).update(tags=["x", f"t{number}"])
    with django_assert_max_num_queries(11):  # type: ignore[operator]
        as_owner.get("/", {"who": "mine", "tag": "x", "q": "study"})
