"""Large grids one after the other, so that pages are answered beside them; small ones at any time."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

import pytest
from django.test import Client

from experiments.core.errors import BusyError
from experiments.studies.services import planning_turns
from experiments.studies.services.planning_turns import PlanningTurns, is_large, planning_turn

SMALL = [{"rounds": [1, 2, 3], "seeds": 5_000}]
LARGE = [{"rounds": list(range(1, 21)), "local": {"epochs": list(range(1, 21))}}]


def test_cells_make_a_grid_large_and_seeds_do_not() -> None:
    assert (is_large(SMALL), is_large(LARGE)) == (False, True)
    assert not any(map(is_large, (None, 5, [], [5], ["x"], [{"seeds": 10**12}])))


def test_one_at_a_time_and_three_of_one_person() -> None:
    turns, begun, end = PlanningTurns(patience=0.05), Event(), Event()

    def plan() -> None:
        with turns.take(1):
            begun.set()
            end.wait(20)

    worker = Thread(target=plan)
    worker.start()
    assert begun.wait(20)
    with pytest.raises(BusyError, match="Try again in 5 seconds"), turns.take(2):
        pass
    turns.asked[1] += 2
    turns.patience = 20
    with pytest.raises(BusyError), turns.take(1):  # at once
        pass
    turns.asked[1] -= 2
    end.set()
    worker.join(20)
    with turns.take(1):
        assert turns.asked == {1: 1}
    assert turns.asked == {}


def test_who_asks_for_too_much_is_told_when_to_come_back(
    as_owner: Client, block: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning_turns.turns, "patience", 0.01)
    body = {"name": "Large", "blocks": [{**block, **LARGE[0]}]}
    with planning_turn(0, LARGE):
        answer = as_owner.post("/api/v1/studies?dry_run=true", body, content_type="application/json")
        small = as_owner.post(
            "/api/v1/studies?dry_run=true", {**body, "blocks": [block]}, content_type="application/json"
        )
        launch = as_owner.post("/api/v1/studies", body, content_type="application/json")
    assert (answer.status_code, answer["Retry-After"], small.status_code, launch.status_code) == (429, "5", 200, 429)
    assert as_owner.post("/api/v1/studies?dry_run=true", body, content_type="application/json").status_code == 200


def test_a_text_that_takes_long_to_read_is_refused_by_its_size(as_owner: Client) -> None:
    text = "blocks:\n" + "- {rounds: 1}\n" * 8_000
    answer = as_owner.post("/api/v1/studies/read", {"text": text}, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "text")
