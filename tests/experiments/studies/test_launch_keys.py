"""A launch that is sent twice is launched once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from experiments.access.services.tokens import token_create
from experiments.models import LaunchKey, Run, Study, User

Block = dict[str, Any]


def launch(client: Client, key: str, block: Block, name: str = "Mine") -> Any:
    body = {"name": name, "blocks": [block]}
    return client.post("/api/v1/studies", body, content_type="application/json", headers={"Idempotency-Key": key})


def test_a_launch_that_is_sent_again_answers_with_the_same_study(mine: Client, block: Block) -> None:
    first, again = launch(mine, "k1", block), launch(mine, "k1", block)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Study.objects.count() == 1


def test_another_key_launches_another_study(mine: Client, block: Block) -> None:
    assert launch(mine, "k1", block).json()["id"] != launch(mine, "k2", block).json()["id"]


def test_a_key_is_its_senders_own(mine: Client, stranger: User, block: Block) -> None:
    other = Client()
    other.force_login(stranger)
    assert launch(mine, "k1", block).json()["id"] != launch(other, "k1", block).json()["id"]


def test_a_key_serves_one_launch_only(mine: Client, block: Block) -> None:
    launch(mine, "k1", block)
    answer = launch(mine, "k1", block, name="Other")
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, ["Idempotency-Key"])
    assert Study.objects.count() == 1


def test_spaces_order_and_written_out_defaults_make_no_other_launch(mine: Client, block: Block) -> None:
    launch(mine, "k1", block)
    turned = dict(reversed(block.items()))
    body = {"blocks": [turned], "tags": [], "name": "Mine", "reuse": True}
    headers = {"Idempotency-Key": "k1"}
    answer = mine.post("/api/v1/studies", body, content_type="application/json", headers=headers)
    assert answer.headers["Idempotency-Replayed"] == "true"


def test_a_refused_launch_leaves_its_key_unused(mine: Client, block: Block) -> None:
    assert launch(mine, "k1", {**block, "rounds": 0}).status_code == 422
    assert not LaunchKey.objects.exists()
    assert launch(mine, "k1", block).status_code == 201


def test_a_dry_run_uses_no_key(mine: Client, block: Block) -> None:
    body = {"name": "Mine", "blocks": [block]}
    headers = {"Idempotency-Key": "k1"}
    mine.post("/api/v1/studies?dry_run=true", body, content_type="application/json", headers=headers)
    assert not LaunchKey.objects.exists()


def test_the_key_of_a_deleted_study_launches_nothing(mine: Client, block: Block) -> None:
    study = launch(mine, "k1", block).json()["id"]
    mine.delete(f"/api/v1/studies/{study}")
    answer = launch(mine, "k1", block)
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "The study that this key launched was deleted. To launch it anew, take a new key.",
    )


@pytest.mark.parametrize("key", ["x" * 201, "two words", "\u00e9"])
def test_a_key_is_a_short_word(mine: Client, block: Block, key: str) -> None:
    answer = launch(mine, key, block)
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, ["Idempotency-Key"])


@pytest.mark.django_db(transaction=True)
def test_launches_at_the_same_moment_launch_once(owner: User, block: Block, redis_url: str) -> None:
    _, secret = token_create(owner=owner, name="impatient", scope="write")
    gate = Barrier(4)

    def send(_: int) -> tuple[int, int]:
        try:
            client = Client(headers={"Authorization": f"Bearer {secret}"})
            gate.wait()
            answer = launch(client, "k1", block)
            return answer.status_code, answer.json()["id"]
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(send, range(4)))
    assert answers == {(201, Study.objects.get().pk)}
    assert Run.objects.count() == 4
