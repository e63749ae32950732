import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from experiments.operations.doctor import Finding, Section, Severity, examine


class Command(BaseCommand):
    help = "Looks at machine, services, components, queue and files; says what is wrong and how to mend it."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")

    def handle(self, *_: Any, json: bool, **__: Any) -> None:
        sections = examine()
        self.stdout.write(as_json(sections) if json else "\n".join(report_lines(sections)))
        if any(finding.severity == Severity.ERROR for section in sections for finding in section.findings):
            raise SystemExit(1)


def as_json(sections: list[Section]) -> str:
    return json.dumps([asdict(section) for section in sections], indent=2)


def report_lines(sections: list[Section]) -> list[str]:
    return [line for section in sections for line in (section.title, *map(finding_line, section.findings))]


def finding_line(finding: Finding) -> str:
    return f"  {finding.severity:8} {finding.seen}{f' {finding.mend}' if finding.mend else ''}"
