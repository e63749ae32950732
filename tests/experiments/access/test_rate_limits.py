"""So many requests a minute, for all web processes together."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from redis import Redis

from experiments.access.services.throttling import RequestCounter, request_counter
from experiments.access.services.tokens import token_create
from experiments.models import User


@pytest.fixture
def limits(settings: Settings, redis_url: str) -> Settings:
    settings.RATE_READS, settings.RATE_WRITES = 3, 2
    with Redis.from_url(redis_url) as redis:
        for key in redis.scan_iter("tributary:rate:*"):
            redis.delete(key)
    request_counter(redis_url).quiet_until = 0.0
    return settings


def test_too_many_reads_are_refused_with_the_time_to_wait(mine: Client, limits: Settings) -> None:
    answers = [mine.get("/api/v1/workers") for _ in range(4)]
    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    # Three a minute: one more every twenty seconds.
    assert answers[3].headers["Retry-After"] == "20"
    assert answers[3].json()["detail"] == "More than 3 requests a minute. Wait 20 s, then go on."


def test_writes_are_counted_apart_from_reads(mine: Client, limits: Settings) -> None:
    assert [mine.post("/api/v1/runs/1/cancel").status_code for _ in range(3)] == [404, 404, 429]
    assert mine.get("/api/v1/workers").status_code == 200


def test_a_persons_browser_and_tokens_share_their_limit_with_nobody_else(
    mine: Client, owner: User, stranger: User, limits: Settings
) -> None:
    _, secret = token_create(owner=owner, name="a script")
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    mine.get("/api/v1/workers")
    assert [program.get("/api/v1/workers").status_code for _ in range(3)] == [200, 200, 429]
    other = Client()
    other.force_login(stranger)
    assert other.get("/api/v1/workers").status_code == 200


def test_web_processes_count_together(limits: Settings, redis_url: str) -> None:
    one, other = RequestCounter(redis_url), RequestCounter(redis_url)
    waits = [each.wait_for("tributary:rate:read:somebody", 3) for each in (one, other, one, other)]
    assert waits[:3] == [0, 0, 0]
    assert 19_000 < waits[3] <= 20_000


def test_zero_is_no_limit(mine: Client, limits: Settings) -> None:
    limits.RATE_READS = 0
    assert {mine.get("/api/v1/workers").status_code for _ in range(5)} == {200}


def test_without_redis_nobody_is_limited_and_the_log_tells_once(
    mine: Client, limits: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    limits.REDIS_URL = "redis://127.0.0.1:1/0"
    with caplog.at_level(logging.WARNING):
        assert {mine.get("/api/v1/workers").status_code for _ in range(5)} == {200}
    warnings: list[Any] = [each for each in caplog.messages if "Redis is away" in each]
    assert len(warnings) == 1
