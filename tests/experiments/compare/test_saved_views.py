from __future__ import annotations

import pytest
from django.test import Client

from experiments.compare.selectors.saved_views import views_for
from experiments.compare.services import view_delete, view_save
from experiments.core.errors import NotAllowedError
from experiments.models import SavedView, User
from workers.errors import SpecError


def test_a_view_is_kept_under_its_name_and_saving_again_replaces_it(owner: User) -> None:
    first = view_save(owner=owner, name=" Ratios ", query="?study=1&x=bytes")
    again = view_save(owner=owner, name="Ratios", query="study=2", shared=False)
    assert (first.pk, first.name, first.query) == (again.pk, "Ratios", "study=1&x=bytes")
    assert SavedView.objects.values_list("query", "shared").get() == ("study=2", False)


def test_the_lab_sees_what_is_shared_and_nobody_what_is_not(owner: User, stranger: User, viewer: User) -> None:
    view_save(owner=owner, name="Ours", query="study=1")
    view_save(owner=owner, name="Mine", query="study=1", shared=False)
    view_save(owner=viewer, name="Ours", query="study=3", shared=False)
    assert [view.name for view in views_for(person=owner)] == ["Mine", "Ours"]
    assert [view.query for view in views_for(person=stranger)] == ["study=1"]
    assert [view.query for view in views_for(person=viewer)] == ["study=1", "study=3"]


def test_a_viewer_puts_nothing_before_everyone(viewer: User, mine: Client) -> None:
    with pytest.raises(NotAllowedError):
        view_save(owner=viewer, name="Ours", query="study=1", shared=True)
    mine.force_login(viewer)
    assert "The lab sees it too" not in mine.get("/compare?study=1").content.decode()
    wish = {"name": "Mine", "query": "study=1", "shared": False}
    assert mine.post("/api/v1/views", wish, content_type="application/json").status_code == 201
    assert SavedView.objects.values_list("owner__username", "shared").get() == ("viewer", False)


@pytest.mark.parametrize(
    ("name", "query", "path"), [(" ", "study=1", "name"), ("x" * 201, "study=1", "name"), ("x", "?", "query")]
)
def test_a_view_needs_a_name_and_something_to_compare(owner: User, name: str, query: str, path: str) -> None:
    with pytest.raises(SpecError) as refused:
        view_save(owner=owner, name=name, query=query)
    assert [problem.path for problem in refused.value.errors] == [path]


def test_only_its_owner_or_an_admin_deletes_a_view(owner: User, stranger: User, admin: User) -> None:
    view = view_save(owner=owner, name="Ours", query="study=1")
    with pytest.raises(NotAllowedError):
        view_delete(view=view, actor=stranger)
    view_delete(view=view, actor=admin)
    assert not SavedView.objects.exists()
