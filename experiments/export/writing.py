"""Tables as bytes, batch by batch, made in a thread while they are sent."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any, Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from asgiref.sync import sync_to_async
from django.db import connection

from experiments.core.json_values import json_number
from experiments.export.tables.table import Table

SLICE_ROWS = 8_192
"""Rows of text made at a time: they are some 100 bytes each."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Format:
    media_type: str
    encode: Callable[[Table], Iterator[bytes]]
    compressed: bool = False
    """Gzip would gain nothing."""


def csv_parts(table: Table) -> Iterator[bytes]:
    sink = BytesIO()
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    with pyarrow.csv.CSVWriter(sink, table.schema, write_options=options) as writer:
        yield drain(sink)
        for batch in batch_slices(table):
            writer.write_batch(escape_formulas(batch))
            yield drain(sink)


def escape_formulas(batch: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe before it."""
    columns = [escape_words(column) if pa.types.is_dictionary(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def escape_words(column: Any) -> Any:
    words = column.dictionary.to_pylist()
    if not any(word.startswith(FORMULA_STARTS) for word in words):
        return column
    quoted = [f"'{word}" if word.startswith(FORMULA_STARTS) else word for word in words]
    return pa.DictionaryArray.from_arrays(column.indices, pa.array(quoted, pa.string()))


def ndjson_parts(table: Table) -> Iterator[bytes]:
    for batch in batch_slices(table):
        yield "".join(f"{row}\n" for row in json_rows(batch)).encode()


def json_parts(table: Table) -> Iterator[bytes]:
    between = "[\n"
    for batch in batch_slices(table):
        yield (between + ",\n".join(json_rows(batch))).encode()
        between = ",\n"
    yield b"[]\n" if between == "[\n" else b"\n]\n"


def json_rows(batch: Any) -> Iterator[str]:
    names = (json.dumps(name).replace("%", "%%") for name in batch.schema.names)
    template = "{" + ", ".join(f"{name}: %s" for name in names) + "}"
    columns = [json_texts(column) for column in batch.columns]
    return (template % row for row in zip(*columns, strict=True))


def json_texts(column: Any) -> Sequence[str]:
    if pa.types.is_dictionary(column.type):
        words = [json.dumps(word) for word in column.dictionary.to_pylist()]
        return ["null" if place is None else words[place] for place in column.indices.to_pylist()]
    values = column.to_pylist()
    if pa.types.is_integer(column.type):
        return ["null" if value is None else str(value) for value in values]
    if pa.types.is_floating(column.type):
        return ["null" if value is None else json_float(value) for value in values]
    return [json.dumps(value, default=datetime.isoformat) for value in values]


def json_float(value: float) -> str:
    text = repr(value)
    # "nan", "inf" and "-inf" are the only ones with an n.
    return json.dumps(json_number(value)) if "n" in text else text


def parquet_parts(table: Table) -> Iterator[bytes]:
    """Without Arrow's own schema, so that words are read as text instead of categories."""
    sink = BytesIO()
    words = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
    writer = pyarrow.parquet.ParquetWriter(
        sink, table.schema, compression="snappy", use_dictionary=words, store_schema=False
    )
    with writer:
        for batch in table.batches:
            writer.write_batch(batch)
            yield drain(sink)
    yield drain(sink)


def batch_slices(table: Table) -> Iterator[Any]:
    for batch in table.batches:
        for start in range(0, batch.num_rows, SLICE_ROWS):
            yield batch.slice(start, SLICE_ROWS)


def drain(sink: BytesIO) -> bytes:
    content = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return content


FORMATS = {
    "csv": Format("text/csv; charset=utf-8", csv_parts),
    "json": Format("application/json", json_parts),
    "ndjson": Format("application/x-ndjson", ndjson_parts),
    "parquet": Format("application/vnd.apache.parquet", parquet_parts, compressed=True),
}


GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
GZIP_LEVEL = 1
ACCESS_SECONDS = 15.0
"""How often it is asked whether whoever reads may still do so."""


class PartStream:
    """Parts for a response, each made in the request's own thread, where the database's connection is.

    An object instead of a generator: Django calls its `close` in that thread, too, whenever the reader leaves.
    """

    def __init__(self, parts: Generator[bytes], is_allowed: Callable[[], bool], on_end: Callable[[], None]) -> None:
        self.parts, self.is_allowed, self.on_end = parts, is_allowed, on_end
        self.checked, self.ended = time.monotonic(), False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if time.monotonic() - self.checked >= ACCESS_SECONDS:
            # Beside the request's own thread, whose connection is busy.
            if not await sync_to_async(self.is_allowed, thread_sensitive=False)():
                raise ConnectionAbortedError("The right to read this export has ended.")
            self.checked = time.monotonic()
        part = await sync_to_async(self.take)()
        if part is None:
            raise StopAsyncIteration
        return part

    def take(self) -> bytes | None:
        part = next(filter(None, self.parts), None)
        if part is None:
            self.end()
        return part

    def end(self) -> None:
        if not self.ended:
            self.ended = True
            self.on_end()

    def close(self) -> None:
        """And the connection of this thread: a stream outlives the request that began it."""
        self.parts.close()
        connection.close()
        self.end()


def make_first_part(parts: Generator[bytes]) -> Generator[bytes]:
    """Makes the first part now, so that what cannot be made is refused instead of broken off."""
    first = next(parts, b"")

    def all_of_it() -> Generator[bytes]:
        try:
            yield first
            yield from parts
        finally:
            parts.close()

    return all_of_it()


def gzip_parts(parts: Generator[bytes]) -> Generator[bytes]:
    press = zlib.compressobj(GZIP_LEVEL, wbits=GZIP_WINDOW_BITS)
    try:
        for part in parts:
            yield press.compress(part)
        yield press.flush()
    finally:
        parts.close()
