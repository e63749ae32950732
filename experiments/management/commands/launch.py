import time
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.models import Role, Run, RunState, Study, User
from experiments.presets.template_tags import estimate_text
from experiments.studies.services.definition import definition_launch, definition_plan, parse_definition
from experiments.studies.services.launch import Plan
from workers.spec.yaml import read_yaml

TRIAL_SECONDS = 30
LOOK_SECONDS = 0.5


class Command(BaseCommand):
    help = "Launches the study in a YAML file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="STUDY.yaml")
        parser.add_argument("--owner", help="user name; the first admin otherwise")
        parser.add_argument("--wait", action="store_true", help="stay until every run has ended; fails if one failed")
        parser.add_argument("--dry-run", action="store_true", help="check, count and estimate only")

    def handle(self, *_: Any, file: Path, owner: str | None, wait: bool, dry_run: bool, **__: Any) -> None:
        definition = parse_definition(read_yaml(file))
        person = find_owner(owner)
        plan = definition_plan(owner=person, definition=definition, calibrate=dry_run)
        if dry_run:
            until = time.monotonic() + TRIAL_SECONDS
            while plan.calibrating and time.monotonic() < until:
                time.sleep(LOOK_SECONDS)
                plan = definition_plan(owner=person, definition=definition, calibrate=True)
            self.stdout.write(f"{plan_text(plan)}\n{estimate_text(plan)}")
            for warning in plan.warnings:
                self.stdout.write(f"Warning: {warning}")
            for problem in plan.missing:
                self.stdout.write(f"{problem.path}: {problem.message}")
            return
        study = definition_launch(owner=person, definition=definition, source=file.read_text(encoding="utf-8"))
        self.stdout.write(f"Launched study {study.pk}: {plan.runs} runs.\n{estimate_text(plan)}")
        if wait:
            self.wait(study)

    def wait(self, study: Study) -> None:
        last_text = ""
        while True:
            counts = Counter(Run.objects.filter(studies=study).values_list("state", flat=True))
            text = ", ".join(f"{counts[state]} {state}" for state in RunState.values if counts[state])
            if text != last_text:
                self.stdout.write(text)
                last_text = text
            if not counts[RunState.QUEUED] and not counts[RunState.RUNNING]:
                break
            time.sleep(LOOK_SECONDS)
        if counts[RunState.FAILED] or counts[RunState.CANCELLED]:
            raise CommandError("Not every run is done.")


def plan_text(plan: Plan) -> str:
    return f"{plan.runs} runs in {plan.cells} cells, {plan.reused} of them exist already."


def find_owner(name: str | None) -> User:
    people = User.objects.filter(username=name) if name else User.objects.filter(role=Role.ADMIN).order_by("pk")
    person = people.first()
    if person is None:
        raise CommandError(f"There is no user {name}." if name else "There is no admin: start Tributary once.")
    return person
