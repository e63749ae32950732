"""Columns of CSV, Parquet and Arrow files as if they were one table, read in batches."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from workers.data_import.limits import MOST_COLUMNS, MOST_ROWS
from workers.data_import.sources import Format, TableFile
from workers.datasets._originals import open_bytes
from workers.errors import DatasetError

BATCH_ROWS = 65_536
BLOCK_BYTES = 4 << 20
"""Of a CSV file that is parsed at once; no row may be longer."""
DELIMITERS = ",;\t|"
MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""In a CSV file, spaces around them not counted. Parquet and Arrow say themselves what is missing."""


@dataclass(frozen=True)
class Batch:
    """Some rows of one file; the first one below the header is row 1."""

    file: TableFile
    first_row: int
    columns: Mapping[str, pa.Array]

    def place(self, index: int) -> str:
        return f"{self.file.name}, row {self.first_row + index:,}"

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class Table:
    """`types` by column, of CSV files always text; `class_names` of columns that Hugging Face calls class labels."""

    def __init__(self, files: Sequence[TableFile], within: Sequence[Any]) -> None:
        self.files, self.within = files, within
        schema = self.read_schema(files[0])
        self.types: dict[str, pa.DataType] = dict(zip(schema.names, schema.types, strict=True))
        self.class_names = class_labels(schema)
        if len(self.types) != len(schema.names):
            twice = next(name for name in schema.names if schema.names.count(name) > 1)
            raise DatasetError(f"{files[0].name} has several columns {twice!r}: give each a name of its own.")
        if len(self.types) > MOST_COLUMNS:
            raise DatasetError(f"{files[0].name} has {len(self.types):,} columns; {MOST_COLUMNS:,} is the most.")
        for file in files[1:]:
            self.require_same_columns(file)

    @property
    def is_text(self) -> bool:
        """Whether a column's type is known only after all of it was read."""
        return self.files[0].format == "csv"

    def read_schema(self, file: TableFile) -> pa.Schema:
        with self.open(file) as content:
            try:
                return SCHEMAS[file.format](content)
            except (pa.ArrowException, UnicodeDecodeError, csv.Error) as error:
                raise unreadable(file, error) from None

    def require_same_columns(self, file: TableFile) -> None:
        schema = self.read_schema(file)
        other = {**dict(zip(schema.names, schema.types, strict=True))}
        if different := [name for name in {**self.types, **other} if self.types.get(name) != other.get(name)]:
            raise DatasetError(
                f"{file.name} and {self.files[0].name} are not of one table: they differ in column {different[0]!r}."
            )

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[Batch]:
        """Of all files, in their order."""
        total = 0
        for file in self.files:
            row = 1
            with self.open(file) as content:
                for batch in read_batches(file, content, columns, rows):
                    total += len(batch)
                    if total > MOST_ROWS:
                        raise DatasetError(f"It has more than {MOST_ROWS:,} rows: split it up.")
                    arrays = {name: plain_values(batch.column(name), file.format) for name in columns}
                    yield Batch(file, row, arrays)
                    row += len(batch)

    def open(self, file: TableFile) -> IO[bytes]:
        return open_bytes(file.path, self.within)


def read_batches(file: TableFile, content: IO[bytes], columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    try:
        for batch in READERS[file.format](content, columns):
            for first in range(0, len(batch), rows):
                yield batch.slice(first, rows)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable(file, error) from None


def unreadable(file: TableFile, error: Exception) -> DatasetError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    if "straddl" in reason:
        reason = f"a row is longer than {BLOCK_BYTES >> 20} MB, or a quotation mark is never closed"
    return DatasetError(f"{file.name} cannot be read as {file.format}: {reason.rstrip('.')}.")


def plain_values(values: pa.Array, source: Format) -> pa.Array:
    """Text without spaces around it, and nothing but null for what is missing."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if source == "csv":
        values = pc.utf8_trim_whitespace(values)
        return pc.if_else(pc.is_in(values, value_set=pa.array(MISSING_WORDS)), pa.scalar(None, pa.string()), values)
    if pa.types.is_floating(values.type):
        return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    return values


def csv_header(content: IO[bytes]) -> tuple[list[str], str]:
    """Names of the columns, and what stands between them: whichever of , ; tab | is most frequent in the first line."""
    start = io.TextIOWrapper(io.BytesIO(content.read(BLOCK_BYTES)), "utf-8-sig", errors="replace", newline="")
    line = start.readline()
    if not line.strip():
        raise pa.ArrowInvalid("it has no first line with the names of its columns")
    delimiter = max(DELIMITERS, key=line.count)
    start.seek(0)
    content.seek(0)
    names = [name.strip() for name in next(csv.reader(start, delimiter=delimiter))]
    if "" in names:
        raise pa.ArrowInvalid(f"column {names.index('') + 1} has no name in the first line")
    return names, delimiter


def csv_schema(content: IO[bytes]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in csv_header(content)[0]])


def csv_batches(content: IO[bytes], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    names, delimiter = csv_header(content)
    with closing(
        pa_csv.open_csv(
            content,
            pa_csv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=BLOCK_BYTES),
            pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=list(columns),
                strings_can_be_null=False,
            ),
        )
    ) as reader:
        yield from reader


def parquet_schema(content: IO[bytes]) -> pa.Schema:
    with pq.ParquetFile(content) as file:
        if file.metadata.num_rows > MOST_ROWS:
            raise DatasetError(f"It has {file.metadata.num_rows:,} rows, and {MOST_ROWS:,} is the most: split it up.")
        return file.schema_arrow


def parquet_batches(content: IO[bytes], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(content) as file:
        nested = any(pa.types.is_nested(each.type) for each in file.schema_arrow if each.name in columns)
        size = 64 if nested else BATCH_ROWS
        yield from file.iter_batches(batch_size=size, columns=list(columns), use_threads=False)


def open_arrow(content: IO[bytes]) -> Any:
    """As a stream, which is what Hugging Face writes, or else as a file."""
    try:
        return pa.ipc.open_stream(content)
    except pa.ArrowInvalid:
        content.seek(0)
        return pa.ipc.open_file(content)


def arrow_schema(content: IO[bytes]) -> pa.Schema:
    return open_arrow(content).schema


def arrow_batches(content: IO[bytes], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    reader = open_arrow(content)
    if isinstance(reader, pa.ipc.RecordBatchStreamReader):
        batches: Iterator[pa.RecordBatch] = iter(reader)
    else:
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    for batch in batches:
        yield batch.select(list(columns))


def class_labels(schema: pa.Schema) -> dict[str, tuple[str, ...]]:
    """The names of Hugging Face's ClassLabel columns, which hold numbers from 0."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        labels = {name: each for name, each in features.items() if each.get("_type") == "ClassLabel"}
        return {name: tuple(map(str, each["names"])) for name, each in labels.items() if each.get("names")}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


SCHEMAS: dict[Format, Callable[[IO[bytes]], pa.Schema]] = {
    "csv": csv_schema,
    "parquet": parquet_schema,
    "arrow": arrow_schema,
}
READERS: dict[Format, Callable[[IO[bytes], Sequence[str]], Iterator[pa.RecordBatch]]] = {
    "csv": csv_batches,
    "parquet": parquet_batches,
    "arrow": arrow_batches,
}
