"""A folder of pictures: the folders in it are the classes, in the order of their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workers.catalog.component import Arrays
from workers.data_import.columns import in_order
from workers.data_import.limits import MOST_CLASSES, refuse_oversize, scratch_array
from workers.data_import.options import ImportOptions
from workers.data_import.pictures import PictureScan, decode
from workers.data_import.plan import (
    Division,
    Plan,
    Preview,
    class_problems,
    draw_test_rows,
    first_of,
    set_name,
    stored_bytes,
)
from workers.data_import.sources import Source
from workers.datasets._fetch import Report
from workers.datasets._originals import open_bytes
from workers.spec.runspec import rounded_share

REPORT_EVERY = 500
TABLE_OPTIONS = ("target", "client", "split", "leave_out", "categories")


def plan_pictures(source: Source, options: ImportOptions, within: Sequence[Path], report: Report) -> Plan:
    scan, files = PictureScan(), source.pictures
    for number, file in enumerate(files):
        if number % REPORT_EVERY == 0:
            report(number / len(files) / 2, file.name)
        with open_bytes(file.path, within) as content:
            scan.add(content, file.name)
    counts = Counter(file.label for file in files)
    labels = in_order(counts)
    trained = {file.label for file in files if file.part != "test"}
    in_parts = any(file.part for file in files)
    test = sum(file.part == "test" for file in files) if in_parts else rounded_share(options.test_share, len(files))
    shape = scan.shape(options)
    preview = Preview(
        name=set_name(options, source.path),
        kind="pictures in folders",
        rows=len(files),
        train=len(files) - test,
        test=test,
        shape=shape,
        bytes=stored_bytes(len(files), shape, 1),
        classes=len(labels),
        class_counts=first_of({label: counts[label] for label in labels}),
        clients=None,
        columns=(),
        problems=tuple(picture_problems(source, options, scan, counts, set(labels) - trained)),
        notes=tuple(picture_notes(source, in_parts=in_parts)),
    )

    def make(report: Report) -> tuple[Arrays, list[dict[str, Any]]]:
        refuse_oversize(preview.bytes)
        places = {label: place for place, label in enumerate(labels)}
        y = np.array([places[file.label] for file in files], np.int64)
        if in_parts:
            mask = np.array([file.part == "test" for file in files])
        else:
            mask = draw_test_rows(len(files), None, options.test_share, options.seed)
        division = Division.of(mask)
        train_x = scratch_array((len(files) - int(mask.sum()), *shape), np.uint8)
        test_x = scratch_array((int(mask.sum()), *shape), np.uint8)
        for number, file in enumerate(files):
            if number % REPORT_EVERY == 0:
                report(0.5 + number / len(files) / 2, file.name)
            with open_bytes(file.path, within) as content:
                pixels = decode(content, file.name, options.image_size, grey=scan.grey(options.colour))
            (test_x if mask[number] else train_x)[division.position[number]] = pixels
        return Arrays(train_x, y[~mask], test_x, y[mask]), []

    return Plan(preview, tuple(labels), make)


def picture_problems(
    source: Source, options: ImportOptions, scan: PictureScan, counts: Counter[str], untrained: set[str]
) -> Iterator[str]:
    if named := [each for each in TABLE_OPTIONS if getattr(options, each)]:
        yield f"{source.path.name} holds pictures in folders, which have no columns: leave {', '.join(named)} empty."
    if problem := scan.problem(options):
        yield problem
    if untrained:
        yield f"There is no picture of {min(untrained)!r} to train on: every class of test needs its folder in train."
    if len(counts) > MOST_CLASSES:
        yield f"There are {len(counts):,} folders; {MOST_CLASSES:,} classes is the most."
    yield from class_problems(source.path.name, counts)


def picture_notes(source: Source, *, in_parts: bool) -> Iterator[str]:
    if in_parts:
        yield "The folders train and test say which pictures are for what; no share is drawn."
    if source.others:
        yield f"{len(source.others):,} files that are no pictures are left out, such as {source.others[0]}."
