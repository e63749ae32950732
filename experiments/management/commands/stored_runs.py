from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.management.commands.launch import find_owner
from experiments.presets.preset import presets


class Command(BaseCommand):
    help = "Stores the done runs of studies tagged reproduction in small files, or brings stored runs back as done."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["save", "load"])
        parser.add_argument("folder", type=Path, help="with a Parquet file for each preset")
        parser.add_argument("--preset", choices=list(presets()), help="only of this one")
        parser.add_argument("--owner", help="who owns the study of loaded runs; the first admin otherwise")

    def handle(self, *_: Any, action: str, folder: Path, preset: str | None, owner: str | None, **__: Any) -> None:
        names = [preset] if preset else list(presets())
        if action == "save":
            self.save(folder, names)
        else:
            self.load(folder, names, owner)

    def save(self, folder: Path, names: list[str]) -> None:
        from experiments.stored_runs.files import merge_runs, read_runs, write_runs
        from experiments.stored_runs.services import collect_runs

        for name in names:
            path = folder / f"{name}.parquet"
            merged = merge_runs(read_runs(path) if path.exists() else (), collect_runs(presets()[name]))
            for run_hash in merged.conflicts:
                self.stderr.write(f"{name}: run {run_hash[:12]} is stored with other curves, which stay.")
            if merged.added:
                write_runs(path, merged.runs)
            if merged.runs:
                size = path.stat().st_size / 1e3
                self.stdout.write(f"{name}: {merged.added} new, {len(merged.runs)} stored, {size:,.0f} kB.")

    def load(self, folder: Path, names: list[str], owner: str | None) -> None:
        from experiments.stored_runs.files import read_folder
        from experiments.stored_runs.services import load_runs

        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder: give the one that holds the Parquet files.")
        stored, person = read_folder(folder), find_owner(owner)
        for name in names:
            if name in stored:
                report = load_runs(owner=person, preset=presets()[name], stored=stored[name])
                rest = f", {report.computing} are being computed here" if report.computing else ""
                self.stdout.write(
                    f"{name}: {report.new} runs brought back, {report.had} were here{rest}: study {report.study.pk}."
                )
