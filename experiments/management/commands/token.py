from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.access.services.tokens import token_create
from experiments.models import Scope, User


class Command(BaseCommand):
    help = "Makes an API token for a user and prints it, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--scope", choices=Scope.values, default=Scope.READ.value)
        parser.add_argument("--name", default="command line", help="what will use it")
        parser.add_argument("--days", type=int, help="how long it is valid; otherwise until it is revoked")

    def handle(self, *_: Any, user: str, scope: str, name: str, days: int | None, **__: Any) -> None:
        owner = User.objects.filter(username=user).first()
        if owner is None:
            raise CommandError(f"There is no user {user}: make one with manage.py createuser {user}.")
        _token, secret = token_create(owner=owner, name=name, scope=scope, days=days)
        self.stdout.write(secret)
