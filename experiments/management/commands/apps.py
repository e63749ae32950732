from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from experiments.flower_apps.selectors import AppCheck, app_rows, require_app
from experiments.flower_apps.services import app_add, app_check, app_remove, environment_make
from workers.apps.package import AppPackage


class Command(BaseCommand):
    help = (
        "The lab's Flower apps: lists them, adds a folder, .zip or .fab, checks, installs what one asks for, removes."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=["list", "add", "check", "install", "remove"])
        parser.add_argument("what", nargs="?", help="a folder or archive to add; otherwise an app's name")

    def handle(self, *_: Any, action: str, what: str | None, **__: Any) -> None:
        if action == "list":
            self.list()
        elif what is None:
            raise CommandError(f"Which one? manage.py apps {action} {'PATH' if action == 'add' else 'NAME'}")
        elif action == "add":
            self.add(Path(what).expanduser())
        elif action == "check":
            self.write_check(readable_app(what))
        elif action == "install":
            self.write_state(readable_app(what).name, environment_make(package=readable_app(what)))
        else:
            app_remove(actor=None, name=what)
            self.stdout.write(f"{what} is removed: no new study can take it. Runs that have it keep their version.")

    def list(self) -> None:
        rows = app_rows()
        for row in rows:
            package = row.app.package
            state = check_text(row.check) if package else f"cannot be read: {row.app.problem}"
            version = package.version if package else "-"
            self.stdout.write(f"{row.app.name:<28} {version:<10} {row.app.origin:<7} {state}")
        if not rows:
            self.stdout.write("None yet. manage.py apps add PATH adds one; TRIBUTARY_APPS names folders of them.")

    def add(self, path: Path) -> None:
        if not path.exists():
            raise CommandError(f"There is no {path}.")
        package = app_add(actor=None, source=path.resolve())
        self.stdout.write(f"{package.name} {package.version} ({package.hash[:12]}) is here: new studies take it.")
        self.write_check(package)

    def write_check(self, package: AppPackage) -> None:
        self.write_state(package.name, app_check(package=package))

    def write_state(self, name: str, check: AppCheck) -> None:
        self.stdout.write(f"{name} {check_text(check)}")
        if check.missing:
            self.stdout.write(f"Not met here: {', '.join(check.missing)}")


def readable_app(name: str) -> AppPackage:
    app = require_app(name)
    if app.package is None:
        raise CommandError(app.problem)
    return app.package


def check_text(check: AppCheck | None) -> str:
    if check is None or not check.tried:
        return "not tried yet"
    if check.ok:
        return f"can be imported by {check.interpreter}, Python {check.python}"
    return f"cannot be imported: {check.problem}"
