from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from experiments.access.services.share_links import link_create, link_open, link_revoke
from experiments.core.errors import NotAllowedError
from experiments.models import AuditEntry, ShareLink, User
from tests.experiments import lab
from workers.errors import SpecError


def test_a_link_opens_with_its_secret_which_is_not_kept(owner: User) -> None:
    link, secret = link_create(owner=owner, query="study=1&q=words", title="For reviewers")
    assert link_open(secret) == link
    assert link_open("") is None
    assert link_open(f"{secret}x") is None
    row = ShareLink.objects.values().get()
    assert secret not in str(row)
    assert (row["query"], row["prefix"]) == ("study=1", secret[:8])


def test_it_opens_nothing_once_expired_revoked_or_its_owner_has_left(owner: User) -> None:
    links = [link_create(owner=owner, query="study=1", days=1) for _ in range(2)]
    ShareLink.objects.filter(pk=links[0][0].pk).update(expires=timezone.now() - timedelta(seconds=1))
    link_revoke(link=links[1][0], actor=owner)
    assert [link_open(secret) for _, secret in links] == [None, None]
    _, secret = link_create(owner=owner, query="study=1")
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
    owner: User, viewer: User, stranger: User, admin: User
) -> None:
    with pytest.raises(NotAllowedError):
        link_create(owner=viewer, query="study=1")
    link, secret = link_create(owner=owner, query="study=1")
    with pytest.raises(NotAllowedError):
        link_revoke(link=link, actor=stranger)
    link_revoke(link=link, actor=admin)
    link_revoke(link=link, actor=admin)
    assert link_open(secret) is None
    assert list(AuditEntry.objects.order_by("pk").values_list("actor_name", "action")) == [
        ("owner", "share.create"),
        ("boss", "share.revoke"),
    ]


@pytest.mark.parametrize(
    ("query", "days", "path"), [("", 30, "query"), ("study=1", 0, "days"), ("study=1", 366, "days")]
)
def test_it_says_what_is_wrong_with_a_wish(owner: User, query: str, days: int, path: str) -> None:
    with pytest.raises(SpecError) as refused:
        link_create(owner=owner, query=query, days=days)
    assert [problem.path for problem in refused.value.errors] == [path]
