"""GET /metrics over HTTP: formats, filters, headers, refusals."""

import csv
import gzip
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Any

import pyarrow.parquet
import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from experiments.models import Study, User
from tests.experiments.lab import launched, record, runs_in_order

MU = {"name": "fedprox", "mu": [0.01, 1.0]}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


def get_export(person: User, path: str, **headers: str) -> Answer:
    client = AsyncClient()

    async def read() -> Answer:
        await client.aforce_login(person)
        answer = await client.get(path, headers=headers)
        if not answer.streaming:
            return Answer(answer.status_code, answer.headers, answer.content)
        return Answer(answer.status_code, answer.headers, b"".join([part async for part in answer.streaming_content]))

    return async_to_sync(read)()


@pytest.fixture
def study(transactional_db: None, redis_url: str, owner: User) -> Study:
    """Two runs of two rounds, told apart by mu: one diverges."""
    study = launched(owner, strategy=MU, seeds=[7])
    first, second = runs_in_order(study)
    record(first, {"loss": [2.5, math.nan], "accuracy": [0.1, 1 / 3]})
    record(second, {"loss": [math.inf, -math.inf]})
    return study


def expected_rows(study: Study) -> list[tuple[Any, ...]]:
    first, second = runs_in_order(study)
    return [
        (first.pk, study.pk, first.cell, 7, 0, "accuracy", 0.1, 0.01),
        (first.pk, study.pk, first.cell, 7, 1, "accuracy", 1 / 3, 0.01),
        (first.pk, study.pk, first.cell, 7, 0, "loss", 2.5, 0.01),
        (first.pk, study.pk, first.cell, 7, 1, "loss", "NaN", 0.01),
        (second.pk, study.pk, second.cell, 7, 0, "loss", "Infinity", 1.0),
        (second.pk, study.pk, second.cell, 7, 1, "loss", "-Infinity", 1.0),
    ]


HEADER = ["run", "study", "cell", "seed", "round", "metric", "value", "strategy.mu"]


def test_csv_rows_are_tidy_with_a_column_for_each_field_that_varies(owner: User, study: Study) -> None:
    answer = get_export(owner, f"/api/v1/metrics?study={study.pk}")
    header, *rows = csv.reader(StringIO(answer.body.decode()))
    assert header == HEADER
    assert [row[4:] for row in rows] == [
        ["0", "accuracy", "0.1", "0.01"],
        ["1", "accuracy", "0.3333333333333333", "0.01"],
        ["0", "loss", "2.5", "0.01"],
        ["1", "loss", "nan", "0.01"],
        ["0", "loss", "inf", "1"],
        ["1", "loss", "-inf", "1"],
    ]
    assert [row[:4] for row in rows] == [[str(each) for each in row[:4]] for row in expected_rows(study)]
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="study-{study.pk}-metrics.csv"'


def test_json_and_ndjson_have_the_same_rows_with_odd_numbers_as_text(owner: User, study: Study) -> None:
    expected = [dict(zip(HEADER, row, strict=True)) for row in expected_rows(study)]
    whole = get_export(owner, f"/api/v1/metrics?study={study.pk}&format=json")
    lines = get_export(owner, f"/api/v1/metrics?study={study.pk}&format=ndjson")
    assert (whole.headers["Content-Type"], lines.headers["Content-Type"]) == (
        "application/json",
        "application/x-ndjson",
    )
    assert json.loads(whole.body) == expected
    assert [json.loads(line) for line in lines.body.decode().splitlines()] == expected


def test_parquet_keeps_types_and_every_bit(owner: User, study: Study) -> None:
    answer = get_export(owner, f"/api/v1/metrics?study={study.pk}&format=parquet", **{"accept-encoding": "gzip"})
    assert answer.headers["Content-Type"] == "application/vnd.apache.parquet"
    assert "Content-Encoding" not in answer.headers
    table = pyarrow.parquet.read_table(BytesIO(answer.body))
    kinds = ["int64", "int64", "string", "int64", "int32", "string", "double", "double"]
    assert [(field.name, str(field.type)) for field in table.schema] == list(zip(HEADER, kinds, strict=True))
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert [tuple(map(repr, row)) for row in rows] == [
        tuple(repr(float(each)) if index == 6 else repr(each) for index, each in enumerate(row))
        for row in expected_rows(study)
    ]


def test_nothing_to_tell_is_a_table_without_rows(owner: User, transactional_db: None) -> None:
    assert get_export(owner, "/api/v1/metrics").body == b'"run","study","cell","seed","round","metric","value"\n'
    assert get_export(owner, "/api/v1/metrics?format=json").body == b"[]\n"
    assert get_export(owner, "/api/v1/metrics?format=ndjson").body == b""
    table = pyarrow.parquet.read_table(BytesIO(get_export(owner, "/api/v1/metrics?format=parquet").body))
    assert (table.num_rows, table.column_names) == (0, HEADER[:-1])


def test_text_is_gzipped_for_those_who_accept_it(owner: User, study: Study) -> None:
    path = f"/api/v1/metrics?study={study.pk}"
    plain = get_export(owner, path)
    packed = get_export(owner, path, **{"accept-encoding": "br, gzip;q=0.5"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding, Cookie"
    assert "Content-Encoding" not in get_export(owner, path, **{"accept-encoding": "br, gzip;q=0"}).headers


def test_runs_are_filtered_by_any_field_and_metrics_by_name(owner: User, study: Study) -> None:
    second = runs_in_order(study)[1]
    answer = get_export(owner, "/api/v1/metrics?format=json&strategy.mu=1&metric=loss&metric=f1")
    rows = json.loads(answer.body)
    assert [(row["run"], row["metric"], row["round"]) for row in rows] == [
        (second.pk, "loss", 0),
        (second.pk, "loss", 1),
    ]
    assert "strategy.mu" not in rows[0]


def test_a_run_of_two_studies_is_told_once(owner: User, study: Study) -> None:
    again = launched(owner, "Again", strategy=MU, seeds=[7])
    path = "/api/v1/metrics?format=json&metric=accuracy"
    assert [row["study"] for row in json.loads(get_export(owner, path).body)] == [study.pk] * 2
    assert [row["study"] for row in json.loads(get_export(owner, f"{path}&study={again.pk}").body)] == [again.pk] * 2


def test_what_is_wrong_is_refused(client: Client, viewer: User) -> None:
    client.force_login(viewer)
    assert client.get("/api/v1/metrics?study=999999").status_code == 404
    assert client.get("/api/v1/metrics?format=xlsx").status_code == 422
    misspelt = client.get("/api/v1/metrics?strat=fedavg")
    assert (misspelt.status_code, misspelt.json()["errors"][0]["path"]) == (422, "strat")


@pytest.mark.parametrize("path", ["metrics", "export/clients", "export/summaries", "export/specs", "export/partitions"])
def test_strangers_get_nothing(client: Client, db: None, path: str) -> None:
    assert client.get(f"/api/v1/{path}").status_code == 401
