"""Parquet files of any sort, as the CSV that the page Import reads."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from experiments.result_imports.parquet_text import parquet_to_csv
from workers.errors import TributaryError

ADDRESS = "/imports/parquet"


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_numbers_keep_their_digits_and_words_their_commas() -> None:
    content = parquet(
        name=pa.array(["a", 'b, "c"', "a"]).dictionary_encode(),
        round=pa.array([1, 2, None], pa.int8()),
        short=pa.array([0.1, None, 1.0], pa.float32()),
        long=[0.1, float("nan"), float("-inf")],
        true=[True, False, None],
    )
    assert parquet_to_csv([content[:9], content[9:]]).decode().splitlines() == [
        '"name","round","short","long","true"',
        '"a",1,0.10000000149011612,0.1,true',
        '"b, ""c""",2,,nan,false',
        '"a",,1,-inf,',
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "It is no Parquet file, or a damaged one: write it again, or export it as CSV."),
        (parquet(a=[1, 2])[:-20], "It is no Parquet file, or a damaged one: write it again, or export it as CSV."),
        (
            parquet(a=[1], curve=[[0.1, 0.2]]),
            "Column curve holds list<element: double>: a table has numbers, words and truth values. Leave it out.",
        ),
        (
            parquet(a=pa.nulls(2_000_001, pa.int8())),
            "It has 2,000,001 cells, and the page takes 2,000,000: import it with the client: "
            "tributary import parquet FILE.",
        ),
    ],
)
def test_what_cannot_be_a_table_is_told(content: bytes, words: str) -> None:
    with pytest.raises(TributaryError) as refusal:
        parquet_to_csv([content])
    assert refusal.value.detail == words


def test_a_small_file_that_would_take_all_memory_ends_its_own_process_only() -> None:
    word = "x" * 30_000_000
    content = parquet(word=pa.array([word] * 100).dictionary_encode())
    assert len(content) < 3_000_000
    with pytest.raises(TributaryError, match=r"It takes too much memory or time to read here"):
        parquet_to_csv([content])


def test_only_who_may_launch_may_send_one(browsers: dict[str, Client], as_owner: Client) -> None:
    def send(client: Client, content: bytes) -> Any:
        return client.post(ADDRESS, {"file": SimpleUploadedFile("old.parquet", content)})

    answer = send(as_owner, parquet(run=["a"], round=[1]))
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert answer.content == b'"run","round"\n"a",1\n'
    assert send(as_owner, b"no").status_code == 422
    assert as_owner.post(ADDRESS).json() == {"detail": "Send the Parquet file as `file`."}
    assert send(browsers["viewer"], parquet(run=["a"])).status_code == 403
