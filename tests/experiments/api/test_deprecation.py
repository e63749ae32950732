from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from django.test import Client

from experiments.api.deprecation import DEPRECATIONS, deprecated
from experiments.models import Study, User

DOCUMENT = Path(__file__).parents[3] / "docs" / "api.md"


@pytest.mark.parametrize("kind", ["tex", "md", "csv"])
def test_the_old_address_of_a_table_answers_as_the_new_one_and_says_that_it_goes(
    owner: User, study: Study, kind: str
) -> None:
    browser = Client()
    browser.force_login(owner)
    old = browser.get(f"/compare/table.{kind}", {"study": study.pk})
    new = browser.get(f"/compare/tables/values.{kind}", {"study": study.pk})
    assert (old.status_code, old.content) == (200, new.content)
    # 2026-11-18 is 20,775 days of 86,400 seconds after 1970-01-01.
    assert old.headers["Deprecation"] == "@1794960000"
    assert old.headers["Sunset"] == "Wed, 01 Dec 2027 00:00:00 GMT"
    assert old.headers["Link"].startswith(f'</compare/tables/values.{kind}>; rel="successor-version"')
    assert not {"Deprecation", "Sunset", "Link"} & set(new.headers)


def test_nothing_goes_without_a_years_notice() -> None:
    with pytest.raises(ValueError, match="/old: an address goes after 365 days of notice"):
        deprecated("/old", since=date(2026, 1, 1), until=date(2026, 12, 31), successor="/new")


def test_the_document_lists_what_is_about_to_go() -> None:
    rows = re.findall(r"^\| `(/[^`]+)` \| `(/[^`]+)` \| (\S+) \| (\S+) \|$", DOCUMENT.read_text(), re.MULTILINE)
    assert rows == [(each.address, each.successor, f"{each.since}", f"{each.until}") for each in DEPRECATIONS]
