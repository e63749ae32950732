"""What an admin does to people, in the browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from experiments.models import AuditEntry, User
from tests.e2e.conftest import NewPage
from tests.live import LivePlatform


@pytest.fixture
def admin_page(
    new_page: NewPage, live_platform: LivePlatform, member: User, django_db_blocker: DjangoDbBlocker
) -> Page:
    from django.test import Client

    client = Client()
    with django_db_blocker.unblock():
        client.force_login(User.objects.create(username="ada", role="admin"))
    page = new_page(viewport={"width": 390, "height": 800})
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_platform.base_url}
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    return page


@pytest.mark.django_db(transaction=True)
def test_an_admin_makes_a_viewer_of_a_member_and_disables_them(admin_page: Page, member: User) -> None:
    admin_page.goto("/me")
    admin_page.get_by_role("link", name="People", exact=True).click()
    admin_page.get_by_label("Role of mira").select_option("viewer")
    admin_page.get_by_role("button", name="Change the role of mira").click()
    expect(admin_page.get_by_text("mira is viewer from now on.")).to_be_visible()
    admin_page.get_by_role("button", name="Disable mira").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(admin_page.get_by_text("mira is disabled: logged out everywhere")).to_be_visible()
    expect(admin_page.get_by_role("button", name="Enable mira")).to_be_visible()
    wider = admin_page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider == 0
    member.refresh_from_db()
    assert (member.role, member.is_active) == ("viewer", False)
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)[:2]) == [
        "user.role",
        "user.disable",
    ]
