from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiments.management.commands import launch
from experiments.management.commands.launch import find_owner, plan_text
from experiments.presets.preset import presets
from experiments.presets.selectors import launchable_part
from experiments.presets.services import preset_launch, preset_plan
from experiments.presets.template_tags import estimate_text


class Command(launch.Command):
    help = "Launches a published study."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=list(presets()), metavar="NAME", help=", ".join(presets()))
        parser.add_argument("--scale", choices=["quick", "full"], default="quick")
        parser.add_argument("--owner", help="user name; the first admin otherwise")
        parser.add_argument("--wait", action="store_true", help="stay until every run has ended; fails if one failed")
        parser.add_argument("--dry-run", action="store_true", help="count and estimate only")

    def handle(self, *_: Any, name: str, scale: Any, owner: str | None, wait: bool, dry_run: bool, **__: Any) -> None:  # type: ignore[override]
        preset, person = presets()[name], find_owner(owner)
        plan = preset_plan(owner=person, preset=preset, scale=scale)
        if plan is None:
            raise CommandError(" ".join(launchable_part(preset, scale).left_out))
        self.stdout.write(f"{plan_text(plan)}\n{estimate_text(plan)}")
        if dry_run:
            return
        study = preset_launch(owner=person, preset=preset, scale=scale)
        self.stdout.write(f"Launched study {study.pk}: {study.name}.")
        if wait:
            self.wait(study)
