"""How PostgreSQL's programs are told where the database is."""

from __future__ import annotations

import pytest
from config.database import database
from django.db import connection

from experiments.operations.backup.database import address, password

URL = "postgresql://ada{}@db.lab:6432/runs?sslmode=require&sslpassword=quiet{}"


@pytest.mark.parametrize(("inside", "behind"), [(":hidden", ""), ("", "&password=hidden")])
def test_no_password_is_in_the_command_wherever_the_address_has_it(
    inside: str, behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in database(URL.format(inside, behind)).items():
        monkeypatch.setitem(connection.settings_dict, name, value)
    told = address()
    assert "hidden" not in told
    assert "quiet" not in told
    assert {"dbname=runs", "user=ada", "host=db.lab", "port=6432", "sslmode=require"} <= set(told.split())
    assert password() == "hidden"
