"""An archived study becomes a study of this lab: all of it, or nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_launch
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.json_values import json_safe, plain_text
from experiments.models import (
    Attempt,
    Device,
    LaunchKey,
    Membership,
    Metric,
    Note,
    Outcome,
    Round,
    Run,
    RunState,
    Study,
    User,
)
from experiments.operations.store import store_push
from experiments.queue.services.retention import remove_run_folders
from experiments.queue.services.runs import LIVE
from experiments.results.live.notify import notify_study
from experiments.results.selectors.files import LOG, MODEL
from experiments.results.services.curves import values_write
from experiments.stored_runs.files import is_stored
from experiments.study_archives.archive_file import STUDY, ArchiveError, StudyArchive
from experiments.study_archives.content import ArchivedNote, ArchivedRound, ArchivedRun, ArchivedStudy, read_content
from experiments.study_archives.selectors import RUN_FIELDS
from workers.home import artifact_folder, home, log_file
from workers.spec import is_logged
from workers.store.store import StoreError

logger = logging.getLogger(__name__)
IMPORTED, ORIGIN = "imported", "archive"
ROUNDS_AT_ONCE = 200
WHEN_COMMITTED = """
UPDATE experiments_round SET committed = known.committed
FROM unnest(%s::int[], %s::timestamptz[]) AS known (number, committed)
WHERE run_id = %s AND round = known.number
"""
UNUSABLE = (ValueError, OSError, DataError, IntegrityError, ValidationError)
"""What a file can still be refused for: moments that are none, names that no disk takes, text that no table takes."""


@dataclass(frozen=True)
class ArchiveReport:
    """`new` runs were made, `reused` were done here with the same curves; `known`: the archive was imported before."""

    study: Study
    new: int
    reused: int
    known: bool = False


def study_unarchive(*, owner: User, path: Path) -> ArchiveReport:
    """Every file is compared with its checksum before anything is written. The same archive makes one study.

    What a member brings is in nobody else's studies: only runs that an admin imports are reused by launches.
    """
    require_launch(owner)
    made: list[int] = []
    with StudyArchive(path) as archive:
        try:
            with transaction.atomic():
                lock_in_transaction(Lock.HOLDERS)
                key, _ = LaunchKey.objects.get_or_create(
                    owner=owner, key=f"archive {archive.digest}", defaults={"fingerprint": archive.digest}
                )
                if key.study and not key.study.deleting:
                    return ArchiveReport(key.study, 0, key.study.memberships.count(), known=True)
                report = import_study(archive, owner, made)
                LaunchKey.objects.filter(pk=key.pk).update(study=report.study)
                notify_study(report.study.pk, "launched")
                subject = f"study {report.study.pk}"
                audit_record(
                    actor=owner, action="study.unarchive", subject=subject, name=report.study.name, runs=report.new
                )
        except BaseException as error:
            remove_run_folders(made)
            if isinstance(error, UNUSABLE):
                raise ArchiveError(f"The archive's content cannot be used ({error}): nothing was imported.") from None
            raise
    try:
        store_push(runs=made)
    except StoreError as error:
        logger.warning("The files of study %s are in this home alone: %s", report.study.pk, error)
    return report


def import_study(archive: StudyArchive, owner: User, made: list[int]) -> ArchiveReport:
    about = read_content(ArchivedStudy, archive.read_json(STUDY), STUDY)
    origin = ORIGIN if about.origin in ("logged", "own") else about.origin
    study = Study.objects.create(
        owner=owner,
        name=plain_text(about.name)[:200],
        description=plain_text(about.description),
        tags=[plain_text(tag)[:50] for tag in about.tags],
        blocks=about.blocks,
        source=plain_text(about.source),
        origin=plain_text(origin)[:64],
        requires=Device(about.requires),
    )
    add_notes(about.notes, owner, study=study)
    members = []
    for place in range(about.runs):
        folder = f"runs/{place:04}"
        name = f"{folder}/run.json"
        content = read_content(ArchivedRun, archive.read_json(name), name)
        known = same_run(archive, folder, content)
        run = known or import_run(archive, folder, content, owner, made)
        members.append(Membership(study=study, run=run, position=place, turn=place, reused=known is not None))
    Membership.objects.bulk_create(members, batch_size=2000)
    return ArchiveReport(study, len(made), len(members) - len(made))


def archived_rounds(archive: StudyArchive, folder: str) -> Iterator[ArchivedRound]:
    name = f"{folder}/rounds.jsonl"
    return (read_content(ArchivedRound, line, name) for line in archive.read_lines(name))


def same_run(archive: StudyArchive, folder: str, content: ArchivedRun) -> Run | None:
    """A done run of this lab with the same identity and the same curves, how long machines took aside."""
    if content.state != "done" or is_logged(content.spec):
        return None
    candidates = Run.objects.filter(hash=content.hash, state=RunState.DONE, device_type=content.device_type)
    for run in candidates.order_by("-shared", "-pk")[:5]:
        own = {
            (number, name): repr(value)
            for number, name, value in Metric.objects.filter(run=run).values_list("round", "name", "value")
            if is_stored(name)
        }
        other = {
            (line.round, name): repr(float(value))
            for line in archived_rounds(archive, folder)
            for name, value in line.metrics.items()
            if is_stored(name)
        }
        if own == other:
            return run
    return None


def import_run(archive: StudyArchive, folder: str, content: ArchivedRun, owner: User, made: list[int]) -> Run:
    live = Run.objects.filter(hash=content.hash, requires=content.requires, shared=True, state__in=LIVE).exists()
    note = f"from an archive, on {timezone.now().date().isoformat()}"
    run = Run(**{name: getattr(content, name) for name in RUN_FIELDS})
    run.shared = content.shared and owner.is_lab_admin and not live
    run.provenance = {**json_safe(content.provenance), IMPORTED: note}
    run.reason = plain_text(content.reason)
    run.started, run.finished = moment(content.started), moment(content.finished)
    run.full_clean(exclude=["findings", "provenance", "spec"])
    run.save()
    made.append(run.pk)
    token = uuid4()
    Attempt.objects.create(
        run=run,
        number=1,
        token=token,
        worker=ORIGIN,
        started=run.started or run.finished or timezone.now(),
        ended=run.finished,
        outcome=Outcome(content.state),
        reason=run.reason,
    )
    rounds = archived_rounds(archive, folder)
    while some := list(islice(rounds, ROUNDS_AT_ONCE)):
        add_rounds(run, some)
    add_notes(content.notes, owner, run=run)
    extract_files(archive, folder, run, token)
    return run


def add_rounds(run: Run, archived: Sequence[ArchivedRound]) -> None:
    moments = [moment(each.committed) or timezone.now() for each in archived]
    rounds = [Round(run=run, round=each.round, cohort=each.cohort, clients=each.clients) for each in archived]
    values = [(run.pk, each.round, name, float(value)) for each in archived for name, value in each.metrics.items()]
    Round.objects.bulk_create(rounds)
    with connection.cursor() as cursor:  # Django would say that they were committed now
        cursor.execute(WHEN_COMMITTED, [[each.round for each in rounds], moments, run.pk])
    values_write(values)


def extract_files(archive: StudyArchive, folder: str, run: Run, token: UUID) -> None:
    target = artifact_folder(run.pk, token)
    for name in archive.names_below(folder):
        inner = name.removeprefix(f"{folder}/")
        if inner == LOG:
            archive.extract(name, log_file(run.pk))
        elif inner == MODEL or inner.startswith("files/"):
            archive.extract(name, target / inner)
    if (target / MODEL).is_file():
        run.artifact = str((target / MODEL).relative_to(home()))
        run.save(update_fields=["artifact"])


def add_notes(notes: Sequence[ArchivedNote], owner: User, **subject: Any) -> None:
    """Of an author whom this lab does not know, the note's text says who it was."""
    authors = {person.username: person for person in User.objects.filter(username__in=[n.author for n in notes])}
    for each in notes:
        text = plain_text(each.text)
        author = authors.get(each.author)
        text = text if author else f"{text}\n\n— {plain_text(each.author)}, in an archive"
        note = Note.objects.create(author=author or owner, text=text, **subject)
        Note.objects.filter(pk=note.pk).update(created=moment(each.created) or note.created)


def moment(text: str | None) -> datetime | None:
    if not text:
        return None
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
