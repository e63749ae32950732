from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.access.services.people import user_set_role
from experiments.models import Role, User


class Command(BaseCommand):
    help = "Changes what a person may do: viewer reads, member launches, admin manages everything and everyone."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("role", choices=Role.values)

    def handle(self, *_: Any, name: str, role: str, **__: Any) -> None:
        user_set_role(user=find_user(name), role=role, actor=None)
        self.stdout.write(f"{name} is {role} from now on.")


def find_user(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user {name}: make one with manage.py createuser {name}.")
    return user
