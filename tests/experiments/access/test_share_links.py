from __future__ import annotations

from datetime import timedelta

import pytest
from django.http import QueryDict
from django.utils import timezone

from experiments.access.services.share_links import link_create, link_open, link_revoke
from experiments.compare.selection import requested_selection
from experiments.core.errors import NotAllowedError
from experiments.models import AuditEntry, ShareLink, Study, User
from tests.experiments import lab
from workers.errors import SpecError


@pytest.fixture
def query(owner: User) -> str:
    return f"study={Study.objects.create(owner=owner, name='Bare', blocks=[]).pk}"


def test_a_link_opens_with_its_secret_which_is_not_kept(owner: User, query: str) -> None:
    link, secret = link_create(owner=owner, query=f"{query}&q=words", title="For reviewers")
    assert link_open(secret) == link
    assert link_open("") is None
    assert link_open(f"{secret}x") is None
    row = ShareLink.objects.values().get()
    assert secret not in str(row)
    assert (row["query"], row["prefix"]) == (query, secret[:8])


def test_it_opens_nothing_once_expired_revoked_or_its_owner_has_left(owner: User, query: str) -> None:
    links = [link_create(owner=owner, query=query, days=1) for _ in range(2)]
    ShareLink.objects.filter(pk=links[0][0].pk).update(expires=timezone.now() - timedelta(seconds=1))
    link_revoke(link=links[1][0], actor=owner)
    assert [link_open(secret) for _, secret in links] == [None, None]
    _, secret = link_create(owner=owner, query=query)
    owner.is_active = False
    owner.save()
    assert link_open(secret) is None


def test_tags_are_replaced_by_the_studies_that_have_them_now(owner: User) -> None:
    first, later = lab.launched(owner, "First"), lab.launched(owner, "Later")
    first.tags = ["paper"]
    first.save()
    link, _ = link_create(owner=owner, query="tag=paper&metric=loss")
    later.tags = ["paper"]
    later.save()
    assert link.query == f"metric=loss&study={first.pk}"


def test_viewers_share_nothing_and_strangers_revoke_nothing(
    owner: User, viewer: User, stranger: User, admin: User, query: str
) -> None:
    with pytest.raises(NotAllowedError):
        link_create(owner=viewer, query=query)
    link, secret = link_create(owner=owner, query=query)
    with pytest.raises(NotAllowedError):
        link_revoke(link=link, actor=stranger)
    link_revoke(link=link, actor=admin)
    link_revoke(link=link, actor=admin)
    assert link_open(secret) is None
    assert list(AuditEntry.objects.order_by("pk").values_list("actor_name", "action")) == [
        ("owner", "share.create"),
        ("boss", "share.revoke"),
    ]


@pytest.mark.parametrize(("empty", "days", "path"), [(True, 30, "query"), (False, 0, "days"), (False, 366, "days")])
def test_it_says_what_is_wrong_with_a_wish(owner: User, query: str, empty: bool, days: int, path: str) -> None:
    with pytest.raises(SpecError) as refused:
        link_create(owner=owner, query="" if empty else query, days=days)
    assert [problem.path for problem in refused.value.errors] == [path]


def test_what_does_not_exist_yet_cannot_be_shared(owner: User, query: str) -> None:
    with pytest.raises(SpecError) as refused:
        link_create(owner=owner, query=f"{query},900001&study=900002&run=900003&right=900004")
    assert [problem.message for problem in refused.value.errors] == [
        "There is no study 900001, no study 900002, no run 900003, no run 900004."
    ]


def test_a_tag_of_many_studies_is_shared_with_all_that_its_page_shows(owner: User) -> None:
    """And with those alone: archived ones are not on it, unless they are named."""
    made = [Study(owner=owner, name=f"Study {number}", blocks=[], tags=["paper"]) for number in range(60)]
    Study.objects.bulk_create(made)
    Study.objects.filter(name__in=["Study 0", "Study 1"]).update(archived=timezone.now())
    first, second = Study.objects.filter(archived__isnull=False).order_by("pk")
    query = f"tag=paper&study={second.pk}"
    link, _ = link_create(owner=owner, query=query)
    shared, live = (requested_selection(QueryDict(each))[0].studies for each in (link.query, query))
    assert len(shared) == 59
    assert shared == live
    assert first not in shared
    assert requested_selection(QueryDict("tag=paper"))[0].studies == shared[1:]
