"""Rows of a table as the arrays of a data set: labels, clients, and what became of every other column."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from workers.catalog.component import Arrays
from workers.data_import.columns import ColumnScan, as_codes, as_numbers
from workers.data_import.limits import scratch_array
from workers.data_import.pictures import decode
from workers.data_import.plan import Division, draw_test_rows
from workers.data_import.sources import PARTS
from workers.data_import.table_scan import PICTURE_ROWS, TableScan, category_names, class_keys, picture_contents
from workers.data_import.tables import BATCH_ROWS
from workers.datasets._fetch import Report
from workers.errors import DatasetError


def make_arrays(scan: TableScan, shape: tuple[int, ...], report: Report) -> tuple[Arrays, list[dict[str, Any]]]:
    labels, owners, division = read_roles(scan)
    test = division.test
    if scan.picture:
        train_x, test_x = read_pictures(scan, division, shape, report)
        features: list[dict[str, Any]] = []
    else:
        train_x, test_x, features = read_features(scan, division, shape, report)
    client, test_client = (None, None) if owners is None else (owners[~test], owners[test])
    if client is not None and test_client is not None and not np.isin(test_client, client).all():
        test_client = None  # other people's rows are one common test set
    return Arrays(train_x, labels[~test], test_x, labels[test], client, test_client), features


def read_roles(scan: TableScan) -> tuple[np.ndarray, np.ndarray | None, Division]:
    """Label and client of every row, and which rows are the test set."""
    target, client, split = scan.of_role("target"), scan.of_role("client"), scan.of_role("split")
    assert target is not None
    keys, clients = class_keys(target), client_ids(client) if client else None
    labels, owners = np.empty(scan.rows, np.int64), np.empty(scan.rows if client else 0, np.int32)
    test, row = np.zeros(scan.rows, bool), 0
    for batch in scan.table.batches([column.name for column in (target, client, split) if column]):
        rows = slice(row, row + len(batch))
        row += len(batch)
        labels[rows] = as_codes(batch.columns[target.name], keys)
        if client and clients is not None:
            owners[rows] = as_codes(batch.columns[client.name], [str(each) for each in clients])
        if split:
            in_test = np.array([PARTS[word.lower()] == "test" for word in split.values])
            test[rows] = in_test[as_codes(batch.columns[split.name], split.values)]
        else:
            test[rows] = batch.file.part == "test"
    if not split and not scan.rows_by_part["test"]:
        test = draw_test_rows(scan.rows, owners if client else None, scan.options.test_share, scan.options.seed)
    return labels, None if clients is None else clients[owners], Division.of(test)


def client_ids(column: ColumnScan) -> np.ndarray:
    """In the order of the natural clients: whole numbers by size, anything else by its text."""
    texts = sorted(column.counts or ())
    try:
        numbers = sorted(int(each) for each in texts)
        if {str(each) for each in numbers} == set(texts):
            return np.array(numbers, np.int64)
    except (ValueError, OverflowError):
        pass
    return np.array(texts)


def read_pictures(
    scan: TableScan, division: Division, shape: tuple[int, ...], report: Report
) -> tuple[np.ndarray, np.ndarray]:
    assert scan.picture is not None
    train_x, test_x = part_arrays(division, shape, np.uint8)
    grey, row = scan.pictures.grey(scan.options.colour), 0
    for batch in scan.table.batches([scan.picture], PICTURE_ROWS):
        report(0.5 + row / scan.rows / 2, batch.place(0))
        for content, name in picture_contents(batch, scan.picture):
            pixels = decode(io.BytesIO(content), name, scan.options.image_size, grey=grey)
            (test_x if division.test[row] else train_x)[division.position[row]] = pixels
            row += 1
    return train_x, test_x


def part_arrays(division: Division, shape: tuple[int, ...], kind: type[np.generic]) -> tuple[np.ndarray, np.ndarray]:
    test = int(division.test.sum())
    return scratch_array((len(division.test) - test, *shape), kind), scratch_array((test, *shape), kind)


def read_features(
    scan: TableScan, division: Division, shape: tuple[int, ...], report: Report
) -> tuple[np.ndarray, np.ndarray, list[dict[str, Any]]]:
    """Values and codes column by column into files first: standardising needs all of a column, memory has no room."""
    numbers = {column.name: scratch_array((scan.rows,), np.float64) for column in scan.features("number")}
    codes = {column.name: scratch_array((scan.rows,), np.int32) for column in scan.features("category")}
    row = 0
    for batch in scan.table.batches([*numbers, *codes]):
        report(0.5 + row / scan.rows / 4, batch.place(0))
        rows = slice(row, row + len(batch))
        row += len(batch)
        for name, values in numbers.items():
            values[rows] = as_numbers(batch.columns[name])
        for name, places in codes.items():
            places[rows] = as_codes(batch.columns[name], class_keys(scan.columns[name]))
    features = [
        describe_feature(scan, name, numbers.get(name), division) for name in scan.roles if is_feature(scan, name)
    ]
    train_x, test_x = part_arrays(division, shape, np.float32)
    for first in range(0, scan.rows, BATCH_ROWS):
        report(0.75 + first / scan.rows / 4, "standardising" if scan.options.standardise else "writing")
        rows = slice(first, first + BATCH_ROWS)
        block = encode_rows(features, {name: values[rows] for name, values in chain(numbers.items(), codes.items())})
        test, position = division.test[rows], division.position[rows]
        train_x[position[~test]] = block[~test]
        test_x[position[test]] = block[test]
    return train_x, test_x, features


def is_feature(scan: TableScan, name: str) -> bool:
    return scan.roles[name] in ("number", "category")


def describe_feature(scan: TableScan, name: str, values: np.ndarray | None, division: Division) -> dict[str, Any]:
    """How a column is encoded, as the manifest has it: features follow in the order of the columns."""
    if values is None:
        return {"column": name, "categories": list(category_names(scan.columns[name]))}
    mean, std = moments(name, values, division.test)
    filled = {"filled": mean} if scan.columns[name].missing else {}
    scaled = {"mean": mean, "std": std} if scan.options.standardise else {}
    return {"column": name, **scaled, **filled}


def moments(name: str, values: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation (of all, ddof 0) of the training part's values that are there.

    Sums are exactly rounded (`math.fsum`): the same on every machine, and however the rows are cut into blocks.
    """

    def blocks() -> Iterator[np.ndarray]:
        for first in range(0, len(values), BATCH_ROWS):
            block = values[first : first + BATCH_ROWS]
            yield block[~test[first : first + BATCH_ROWS] & ~np.isnan(block)]

    count = sum(len(block) for block in blocks())
    if not count:
        raise DatasetError(f"Column {name!r} is empty in the training part: leave it out, or take another seed.")
    try:
        mean = math.fsum(chain.from_iterable(block.tolist() for block in blocks())) / count
        with np.errstate(over="raise"):
            square = math.fsum(chain.from_iterable(((block - mean) ** 2).tolist() for block in blocks())) / count
    except (OverflowError, FloatingPointError):
        raise DatasetError(f"Column {name!r} holds numbers that are too large: scale it first.") from None
    return mean, math.sqrt(square)


def encode_rows(features: Sequence[Mapping[str, Any]], values: Mapping[str, np.ndarray]) -> np.ndarray:
    """(value - mean) / std in double precision, one column of ones and zeros for each category; then float32."""
    width = sum(len(feature.get("categories", (None,))) for feature in features)
    rows = len(next(iter(values.values())))
    block, place = np.zeros((rows, width), np.float32), 0
    for feature in features:
        column = values[feature["column"]]
        if "categories" in feature:
            size = len(feature["categories"])
            block[np.arange(rows), place + column % size] = 1  # missing is -1, and the last category
            place += size
            continue
        column = np.where(np.isnan(column), feature.get("filled", np.nan), column)
        if "std" in feature:
            column = (column - feature["mean"]) / (feature["std"] or 1.0)
        with np.errstate(over="ignore"):
            block[:, place] = column
        if not np.isfinite(block[:, place]).all():
            raise DatasetError(f"Column {feature['column']!r} holds numbers that are too large: scale it first.")
        place += 1
    return block
