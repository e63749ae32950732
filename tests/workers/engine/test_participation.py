"""Who takes part in a round."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workers.engine.setup import make_setup
from workers.spec import parse_run


def cohort(**fields: Any) -> list[int]:
    spec = {
        "dataset": {"name": "blobs", "train": 500, "test": 10},
        "model": {"name": "logistic"},
        "strategy": {"name": "fedavg"},
        "clients": 50,
        **fields,
    }
    return make_setup(parse_run(spec), torch.device("cpu")).participation.cohort(1)


@pytest.mark.parametrize(("fraction", "size"), [(0.2, 2), (0.25, 2), (0.5, 5), (1.0, 10), (0.01, 1)])
def test_a_fraction_under_unify_is_of_the_clients_that_still_have_data(fraction: float, size: int) -> None:
    """At ratio 0.8, 40 of the 50 clients gave everything; the shared client comes on top of the cohort."""
    shared, *members = cohort(hybrid={"method": "unify", "ratio": 0.8}, fraction=fraction)
    assert (shared, len(members)) == (-1, size)


def test_a_fraction_under_share_disjoint_is_of_all_clients() -> None:
    assert len(cohort(hybrid={"method": "share-disjoint", "ratio": 0.8}, fraction=0.2)) == 1 + 10


def test_a_cohort_larger_than_what_unify_left_takes_everybody() -> None:
    assert len(cohort(hybrid={"method": "unify", "ratio": 0.8}, cohort=20)) == 1 + 10


def test_everything_shared_leaves_the_shared_client_alone() -> None:
    assert cohort(hybrid={"method": "unify", "ratio": 1.0}, fraction=0.2) == [-1]
