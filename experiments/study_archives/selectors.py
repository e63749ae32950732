"""What of a study goes into its archive."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from itertools import groupby
from typing import Any

from experiments.models import Metric, Note, Round, Run, RunState, Study
from experiments.results.selectors.files import LOG, kept_files
from experiments.study_archives.archive_file import STUDY, archive_parts, file_blocks

ENDED = (RunState.DONE, RunState.FAILED, RunState.CANCELLED)
STUDY_FIELDS = ("name", "description", "tags", "blocks", "source", "origin", "requires")
RUN_FIELDS = (
    *("hash", "cell", "spec", "seed", "shared", "state", "rounds_done", "rounds_total", "engine"),
    *("requires", "device_type", "provenance", "findings", "reason"),
)


def study_archive_parts(study: Study) -> Generator[bytes]:
    """Of the runs that have ended; how many others there are is written down."""
    return archive_parts(study_files(study))


def study_files(study: Study) -> Iterator[tuple[str, Iterable[bytes]]]:
    members = list(study.memberships.filter(run__state__in=ENDED).order_by("position").values_list("run_id", flat=True))
    left_out = study.memberships.exclude(run__state__in=ENDED).count()
    about = {
        **{name: getattr(study, name) for name in STUDY_FIELDS},
        "owner": study.owner.username,
        "created": study.created.isoformat(),
        "runs": len(members),
        "left_out": left_out,
        "notes": notes_of(Note.objects.filter(study=study)),
    }
    yield STUDY, [as_bytes(about)]
    for place, pk in enumerate(members):
        yield from run_archive_files(Run.objects.get(pk=pk), f"runs/{place:04}")


def run_archive_files(run: Run, folder: str) -> Iterator[tuple[str, Iterable[bytes]]]:
    about = {
        **{name: getattr(run, name) for name in RUN_FIELDS},
        **{name: moment.isoformat() if (moment := getattr(run, name)) else None for name in ("started", "finished")},
        "notes": notes_of(Note.objects.filter(run=run)),
    }
    yield f"{folder}/run.json", [as_bytes(about)]
    yield f"{folder}/rounds.jsonl", round_lines(run)
    for name, file in kept_files(run).items():
        if name != LOG or file.bytes:
            yield f"{folder}/{name}", file_blocks(file.path())


def round_lines(run: Run) -> Iterator[bytes]:
    metrics = Metric.objects.filter(run=run).order_by("round", "name").values_list("round", "name", "value")
    values = {number: {name: value for _, name, value in rows} for number, rows in groupby(metrics, lambda row: row[0])}
    for each in Round.objects.filter(run=run).order_by("round").iterator():
        line = {
            "round": each.round,
            "metrics": values.get(each.round, {}),
            "cohort": each.cohort,
            "clients": each.clients,
            "committed": each.committed.isoformat(),
        }
        yield json.dumps(line).encode() + b"\n"


def notes_of(notes: Iterable[Note]) -> list[dict[str, Any]]:
    return [{"author": note.author.username, "text": note.text, "created": note.created.isoformat()} for note in notes]


def as_bytes(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()
