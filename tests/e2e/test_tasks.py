"""What people come to do, start to end, with the number of clicks that it takes them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from experiments.models import Run, Study, User
from tests.e2e.conftest import NewPage
from tests.e2e.editing import clicks, count_clicks
from tests.live import LivePlatform
from workers.home import home


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["screen", "phone"])
def page(request: pytest.FixtureRequest, member_page: NewPage) -> Page:
    width, scheme = request.param
    return member_page(viewport={"width": width, "height": 900}, color_scheme=scheme)


def test_a_phd_student_builds_a_grid_of_36_runs_and_clones_it(page: Page, member: User) -> None:
    Run.objects.update(shared=False)  # each screen's student has the grid computed
    name = f"Which strategy holds under label skew, {page.viewport_size['width']}?"  # type: ignore[index]
    count_clicks(page)
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Name", exact=True).click()
    page.keyboard.type(name)
    for strategy in ("(fedprox)", "(scaffold)"):
        page.get_by_role("button", name="Add a value to Strategy").click()
        page.get_by_role("option").filter(has_text=strategy).click()
        page.get_by_role("button", name="Use").click()
    page.get_by_role("button", name="Add a value to Partition").click()
    page.get_by_role("option").filter(has_text="(label-dirichlet)").click()
    page.get_by_role("textbox", name="Alpha").click()
    page.keyboard.type("0.1, 0.5, 1")
    page.get_by_role("button", name="Use").click()
    page.get_by_role("button", name="Launch 36 runs").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    assert clicks(page) == 13

    page.get_by_label("State and actions").get_by_text("More").click()
    page.get_by_role("link", name="Clone and change").click()
    for field, value in {"Name": f"{name} Shorter", "Rounds": "5"}.items():
        page.get_by_label(field, exact=True).click()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type(value)
    page.get_by_role("button", name="Launch 36 runs").click()
    expect(page.get_by_role("heading", name=f"{name} Shorter")).to_be_visible()
    assert clicks(page) == 5
    assert Study.objects.get(name=f"{name} Shorter").parent == Study.objects.get(name=name)


@pytest.fixture(scope="module")
def uci_har(live_platform: LivePlatform, real: Callable[[str], Path]) -> Iterator[None]:
    """What the quick scale of a preset needs, in the lab's home while these tests last."""
    call_command("datasets", "import", "uci-har", str(real("uci-har")), stdout=StringIO())
    yield
    shutil.rmtree(home() / "datasets" / "uci-har")


def test_a_phd_student_launches_a_preset_in_two_clicks(page: Page, member: User, uci_har: None) -> None:
    page.goto("/presets")
    count_clicks(page)
    page.get_by_role("link", name="Between federated and centralised learning").click()
    page.get_by_role("button", name="Launch quick").click()
    expect(page.get_by_label("State and actions")).to_be_visible()
    assert clicks(page) == 2
    assert Study.objects.filter(tags__contains=["iaisy-2024"]).latest("pk").runs.count() == 6


def test_an_admin_invites_changes_resets_and_disables(
    new_page: NewPage, live_platform: LivePlatform, member: User, django_db_blocker: DjangoDbBlocker
) -> None:
    from django.test import Client

    client = Client()
    with django_db_blocker.unblock():
        client.force_login(User.objects.create(username="boss", role="admin"))
    page = new_page()
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_platform.base_url}
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    page.goto("/")
    count_clicks(page)
    page.get_by_text("boss ▾").click()
    page.get_by_role("link", name="People and roles").click()
    page.get_by_label("Name to log in with").click()
    page.keyboard.type("nora")
    page.get_by_role("button", name="Invite with a link").click()
    link = page.locator("#secret").inner_text()
    assert clicks(page) == 4

    guest = new_page()
    guest.goto(link)
    expect(guest.get_by_text("You log in as nora.")).to_be_visible()
    guest.get_by_label("New password", exact=True).fill("rivers-and-streams")
    guest.get_by_label("New password confirmation").fill("rivers-and-streams")
    guest.get_by_role("button", name="Set the password").click()
    expect(guest.get_by_text("Your password is set. Welcome, nora.")).to_be_visible()

    page.get_by_label("Role of nora").select_option("viewer")
    page.get_by_role("button", name="Change the role of nora").click()
    expect(page.get_by_text("nora is viewer from now on.")).to_be_visible()
    page.get_by_role("button", name="Reset password of nora").click()
    expect(page.locator("#secret")).to_have_text(re.compile("/choose-password/"))
    page.get_by_role("button", name="Disable nora").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(page.get_by_text("nora is disabled: logged out everywhere")).to_be_visible()
    assert clicks(page) == 4
    guest.goto("/me")
    expect(guest.get_by_role("button", name="Log in")).to_be_visible()
