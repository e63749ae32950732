"""Why a table cannot be imported as asked; each sentence says what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from workers.data_import.columns import ColumnScan, as_number, is_picture
from workers.data_import.limits import MOST_CATEGORIES, MOST_CLASSES, MOST_CLIENTS, MOST_FEATURES
from workers.data_import.plan import quoted
from workers.data_import.sources import PARTS
from workers.data_import.table_scan import TableScan, class_keys, sample_shape


def option_problems(scan: TableScan) -> Iterator[str]:
    """What was asked for against the columns that there are."""
    options, known = scan.options, list(scan.roles)
    there_are = f"The columns are {quoted(known)}."
    if not options.target:
        yield f"Say which column is the target, the class that is to be told. {there_are}"
    named = [("target", options.target), ("client", options.client), ("split", options.split)]
    named += [("leave_out", each) for each in options.leave_out]
    named += [("categories", each) for each in options.categories]
    for what, name in named:
        if name and name not in scan.roles:
            yield f"{what}: there is no column {name!r}. {there_are}"
    uses = Counter(name for what, name in named if name and what != "categories")
    for name in (name for name, count in uses.items() if count > 1):
        yield f"Column {name!r} is named for two purposes: choose one."
    if scan.options.split and scan.rows_by_part["test"]:
        yield "The files are named train and test already: leave split empty."
    for name, role in scan.roles.items():
        if role == "refused" and scan.picture and is_picture(scan.table.types[name]):
            yield f"Columns {scan.picture!r} and {name!r} both hold pictures: leave one out."
        elif role == "refused":
            kind = scan.table.types[name]
            yield f"Column {name!r} holds {kind}, which is neither numbers nor words: leave it out."


def scan_problems(scan: TableScan) -> Iterator[str]:
    """What was read against what it is for."""
    for role, most in (("target", MOST_CLASSES), ("client", MOST_CLIENTS), ("split", MOST_CATEGORIES)):
        if column := scan.of_role(role):
            if column.missing:
                place = f"{column.first_missing}, column {column.name!r}"
                yield f"{place}: the {role} is missing. Fill it in, or take the row away."
            if column.counts is None:
                yield f"Column {column.name!r} has more than {most:,} different values: it cannot be the {role}."
    if (target := scan.of_role("target")) and target.counts is not None:
        yield from target_problems(target)
    if (split := scan.of_role("split")) and split.counts is not None:
        yield from split_problems(split)
    for column in (*scan.features("number"), *scan.features("category")):
        yield from feature_problems(scan, column)
    if (problem := scan.pictures.problem(scan.options)) is not None:
        yield problem
    shape = sample_shape(scan)
    if not shape:
        yield "No column is left that could be a feature."
    elif not scan.picture and shape[0] > MOST_FEATURES:
        yield f"The columns make {shape[0]:,} features; {MOST_FEATURES:,} is the most: leave some out."


def target_problems(target: ColumnScan) -> Iterator[str]:
    keys = class_keys(target)
    if target.class_names and (unknown := sorted(set(target.counts or ()) - set(keys))):
        names = f"its names are for 0 to {len(keys) - 1}"
        yield f"Column {target.name!r} holds {unknown[0]}, but {names}: take such rows away."
    numbers = [as_number(each) for each in target.counts or ()]
    if None not in numbers and any(isinstance(each, float) and not each.is_integer() for each in numbers):
        yield (
            f"Column {target.name!r} holds numbers with fractions; classes are words or whole numbers. Cut it into "
            "ranges first."
        )


def split_problems(split: ColumnScan) -> Iterator[str]:
    words = {word: PARTS.get(word.lower()) for word in split.values}
    if unknown := next((word for word, part in words.items() if part is None), None):
        yield f"Column {split.name!r} says {unknown!r}: it should say train, validation or test."
    elif "train" not in words.values():
        yield f"Column {split.name!r} leaves no row to train on."


def feature_problems(scan: TableScan, column: ColumnScan) -> Iterator[str]:
    name = f"Column {column.name!r}"
    if column.missing == column.rows:
        yield f"{name} is empty: leave it out."
    elif column.missing and scan.options.missing == "refuse":
        more = f" ({column.missing:,} are missing in this column)" if column.missing > 1 else ""
        yield (
            f"{column.first_missing}, column {column.name!r}: the value is missing{more}. Fill it in, leave the column "
            "out, or have missing values filled."
        )
    if scan.roles[column.name] == "number" and column.first_infinite:
        place = f"{column.first_infinite}, column {column.name!r}"
        yield f"{place}: the value is infinite. Replace it, or take the row away."
    if scan.roles[column.name] == "category" and column.counts is None:
        yield f"{name} has more than {MOST_CATEGORIES:,} different words: leave it out."
