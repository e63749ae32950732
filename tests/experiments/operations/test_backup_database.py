"""How PostgreSQL's programs are told where the database is."""

from __future__ import annotations

import pytest
from config.database.address import database_settings
from django.db import connection

from experiments.operations.backup.database import database_address, database_password

URL = "postgresql://ada{}@db.lab:6432/runs?sslmode=require&sslpassword=quiet{}"


@pytest.mark.parametrize(("inside", "behind"), [(":hidden", ""), ("", "&password=hidden")])
def test_no_password_is_in_the_command_wherever_the_address_has_it(
    inside: str, behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in database_settings(URL.format(inside, behind)).items():
        monkeypatch.setitem(connection.settings_dict, name, value)
    address = database_address()
    assert "hidden" not in address
    assert "quiet" not in address
    assert {"dbname=runs", "user=ada", "host=db.lab", "port=6432", "sslmode=require"} <= set(address.split())
    assert database_password() == "hidden"
