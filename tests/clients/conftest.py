"""A token, a lab that is really there, and an outbox of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tributary import Connection

    from experiments.models import User
    from tests.live import LivePlatform


@pytest.fixture
def researcher(transactional_db: None) -> User:
    from experiments.models import User

    return User.objects.create_user("mira", password="a-long-password-1", role="member")


@pytest.fixture
def lab(
    live_platform: LivePlatform, researcher: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connection]:
    from tributary import Connection, Login
    from tributary.connection import CURRENT

    from experiments.access.services.tokens import token_create

    monkeypatch.setenv("TRIBUTARY_OUTBOX", str(tmp_path / "outbox"))
    _, secret = token_create(owner=researcher, name="tests", scope="write")
    connection = Connection(Login(live_platform.base_url, secret))
    CURRENT["lab"] = connection
    yield connection
    CURRENT.clear()
    connection.close()
