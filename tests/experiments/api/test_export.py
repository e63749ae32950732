import csv
import math
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client

from experiments.models import User
from experiments.services.fleet import worker_enlist
from experiments.services.leases import rounds_record
from experiments.services.queue import run_claim
from experiments.services.studies import study_launch
from workers.engine.records import RoundRecord

Block = dict[str, Any]
MU = {"name": "fedprox", "mu": [0.01, 1.0]}


def body_of(path: str, person: User) -> str:
    client = AsyncClient()

    async def read() -> str:
        await client.aforce_login(person)
        answer = await client.get(path)
        assert isinstance(answer, StreamingHttpResponse)
        return "".join([part.decode() async for part in answer.streaming_content])

    return async_to_sync(read)()


@pytest.mark.django_db(transaction=True)
def test_rows_are_tidy_with_a_column_for_each_field_that_varies(owner: User, block: Block, redis_url: str) -> None:
    study = study_launch(owner=owner, name="Exported", blocks=[{**block, "strategy": MU, "seeds": [7]}])
    worker = worker_enlist(name="test@lab", host="lab", device="cpu", threads=1)
    for _ in range(2):
        claim = run_claim(worker=worker)
        assert claim
        rounds_record(claim=claim, records=[RoundRecord(1, {"accuracy": 0.1, "loss": math.nan})])
    header, *rows = csv.reader(StringIO(body_of(f"/api/v1/metrics?study={study.pk}", owner)))
    assert header == ["run", "study", "cell", "seed", "round", "metric", "value", "strategy.mu"]
    assert [row[3:] for row in rows] == [
        ["7", "1", "accuracy", "0.1", "0.01"],
        ["7", "1", "loss", "nan", "0.01"],
        ["7", "1", "accuracy", "0.1", "1.0"],
        ["7", "1", "loss", "nan", "1.0"],
    ]


def test_an_unknown_study_is_not_found(client: Client, viewer: User) -> None:
    client.force_login(viewer)
    assert client.get("/api/v1/metrics?study=999999").status_code == 404
    assert client.get("/api/v1/metrics").status_code == 422
