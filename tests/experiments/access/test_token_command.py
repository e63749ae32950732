from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from experiments.access.services.tokens import token_authenticate
from experiments.models import Token, User


def test_it_prints_a_token_that_works(owner: User) -> None:
    out = StringIO()
    call_command("token", "owner", scope="write", days=2, stdout=out)
    token = Token.objects.get()
    assert (token.owner, token.scope, token.name) == (owner, "write", "command line")
    assert token_authenticate(out.getvalue().strip()) == token


def test_it_reads_only_unless_told_otherwise(owner: User) -> None:
    call_command("token", "owner", stdout=StringIO())
    assert Token.objects.get().scope == "read"


def test_it_says_how_to_make_a_user_that_is_not_there(db: None) -> None:
    with pytest.raises(CommandError, match=r"manage\.py createuser mira"):
        call_command("token", "mira")
