"""A Parquet file as CSV, which the page Import reads as it reads other tables.

A small file can ask for any amount of memory, so a process of its own reads it, within limits:
`python -m experiments.result_imports.parquet_text FILE`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

from workers.child_environment import environment_without_secrets
from workers.errors import TributaryError
from workers.home import ROOT

MOST_CELLS = 2_000_000
"""Some 20 MB of text: a browser reads no more at once with ease."""
MOST_MEMORY, MOST_SECONDS = 2_000_000_000, 20
REFUSED = 3
BY_COMMAND = "import it with the client: tributary import parquet FILE"
UNREADABLE = "It is no Parquet file, or a damaged one: write it again, or export it as CSV."


def parquet_to_csv(chunks: Iterable[bytes]) -> bytes:
    """Numbers keep every digit; what is missing is empty."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        command = [sys.executable, "-m", __name__, file.name]
        environment = {**environment_without_secrets(), "ARROW_DEFAULT_MEMORY_POOL": "system"}
        try:
            process = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=2 * MOST_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise TributaryError(f"It takes too long to read here: {BY_COMMAND}.") from None
    if process.returncode == REFUSED:
        raise TributaryError(process.stderr.decode())
    if process.returncode != 0:
        raise TributaryError(f"It takes too much memory or time to read here: {BY_COMMAND}.")
    return process.stdout


def main(file: str) -> int:
    """Ends with REFUSED and words that a person understands, or by a limit of the system."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    try:
        write_csv(file)
    except TributaryError as error:
        sys.stderr.write(error.detail)
        return REFUSED
    return 0


def write_csv(file: str) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    pa.set_cpu_count(1)
    try:
        source = pyarrow.parquet.ParquetFile(file)
    except pa.ArrowInvalid:
        raise TributaryError(UNREADABLE) from None
    shape = source.metadata
    if shape.num_rows * shape.num_columns > MOST_CELLS:
        cells = shape.num_rows * shape.num_columns
        raise TributaryError(f"It has {cells:,} cells, and the page takes {MOST_CELLS:,}: {BY_COMMAND}.")
    schema = pa.schema([(field.name, plain_type(field)) for field in source.schema_arrow])
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    with pyarrow.csv.CSVWriter(sys.stdout.buffer, schema, write_options=options) as writer:
        try:
            for batch in source.iter_batches(use_threads=False):
                columns = [column.cast(kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
        except (pa.ArrowInvalid, OSError):
            raise TributaryError(UNREADABLE) from None


def plain_type(field: Any) -> Any:
    """What a column is written as. Short floats get the digits of their exact values, as the client reads them."""
    import pyarrow.types as types
    from pyarrow import float64, string

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_floating(kind):
        return float64()
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind):
        return kind
    if types.is_string(kind) or types.is_large_string(kind) or types.is_temporal(kind) or types.is_decimal(kind):
        return string()
    raise TributaryError(
        f"Column {field.name} holds {kind}: a table has numbers, words and truth values. Leave it out."
    )


if __name__ == "__main__":
    # Without what the interpreter does at its end: its threads' memory is beyond the limit at times.
    status = main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
