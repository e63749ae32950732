"""What a study costs in operations: these numbers are the same on every machine, however busy it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiments.models import User
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, rounds_record
from experiments.queue.services.workers import worker_enlist
from experiments.results.services.curves import old_rows_left
from experiments.studies.services.launch import study_launch
from workers.engine import federation, simulate
from workers.engine.evaluation import Evaluator
from workers.engine.records import RoundRecord
from workers.engine.training import chain_kernels
from workers.spec import expand

# Data that no other test has, so that nothing of them is prepared yet.
GRID: dict[str, Any] = {
    "dataset": {"name": "blobs", "shape": [[7]], "classes": 3, "train": 331, "test": 53},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedavg"},
    "clients": 5,
    "rounds": 3,
    "local": {"optimizer": [{"name": "sgd", "lr": [0.01, 0.1], "momentum": 0.9}, {"name": "adamw", "lr": 0.01}]},
    "seeds": 2,
}
METRICS = {"accuracy": 0.5, "loss": 1.0, "train_loss": 1.1, "seconds": 0.01}


@pytest.fixture
def claim(transactional_db: None, redis_url: str) -> Claim:
    owner = User.objects.create(username="counter")
    study_launch(owner=owner, name="Counted", blocks=[{**GRID, "local": {"epochs": 1}, "seeds": 1}])
    claim = run_claim(worker=worker_enlist(name="counter@here", host="here", device="cpu", threads=1))
    assert claim is not None
    old_rows_left()  # what a process asks once
    return claim


@pytest.fixture
def operations(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of these was called, in this process."""
    counts: Counter[str] = Counter()

    def count_calls(owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            counts[name] += 1
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, counted)

    count_calls(federation, "prepare_samples")
    count_calls(federation, "partition_samples")
    count_calls(Evaluator, "scores")
    return counts


def records(*numbers: int) -> list[RoundRecord]:
    return [RoundRecord(number, METRICS, (0, 1, 2)) for number in numbers]


def write_counted(claim: Claim, *numbers: int) -> list[str]:
    """What kind each statement was that the rounds took."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        rounds_record(claim=claim, records=records(*numbers))
    return [query["sql"].split()[0] for query in queries]


def test_a_round_takes_four_statements_and_ten_that_are_ready_together_take_no_more(claim: Claim) -> None:
    """In one transaction the lease, the round, its values, and what tells open pages."""
    statements = ["BEGIN", "UPDATE", "INSERT", "INSERT", "SELECT", "COMMIT"]
    assert write_counted(claim, 0) == statements
    assert write_counted(claim, *range(1, 11)) == statements


def test_a_grid_prepares_its_data_once_and_deals_them_out_once_for_each_seed(operations: Counter[str]) -> None:
    runs = expand([GRID]).runs
    assert len(runs) == 6
    for run in runs:
        simulate(run.spec, device="cpu")
    assert operations["prepare_samples"] == 1
    assert operations["partition_samples"] == 2
    # Before the first and after each of three rounds.
    assert operations["scores"] == 6 * 4


def test_training_and_scoring_are_compiled_once_whatever_the_optimizer_and_the_sizes() -> None:
    runs = expand([GRID, {**GRID, "partition": {"name": "label-dirichlet"}, "model": {"name": "logistic"}}]).runs
    for run in runs:
        simulate(run.spec, device="cpu")
    assert (len(chain_kernels.train.signatures), len(chain_kernels.score.signatures)) == (1, 1)


def test_evaluating_every_second_round_leaves_the_others_out_but_for_the_last(operations: Counter[str]) -> None:
    spec = expand([{**GRID, "local": {"epochs": 1}, "seeds": 1, "evaluation": {"every": 2}}]).runs[0].spec
    simulate(spec, device="cpu")
    # Rounds 0, 2 and 3.
    assert operations["scores"] == 3
