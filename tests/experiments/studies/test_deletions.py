from __future__ import annotations

from experiments.models import RunState, User
from experiments.studies.selectors.deletions import Deletion, Holder, deletion_of
from tests.experiments import lab

FEDAVG = {"name": "fedavg"}


def test_it_counts_what_goes_and_names_who_holds_the_rest(owner: User, stranger: User) -> None:
    study = lab.launched(owner)
    both = lab.launched(stranger, "All FedAvg", strategy=FEDAVG)
    one = lab.launched(owner, "One seed", strategy=FEDAVG, seeds=[1])
    runs = lab.runs_in_order(study)
    lab.record(runs[0], {"accuracy": [0.1, 0.2, 0.3]})
    lab.record(runs[3], {"accuracy": [0.1, 0.2, 0.3]})
    runs[3].artifact = "runs/4/artifacts/t/model.safetensors"
    runs[3].save()
    lab.moved(runs[4], RunState.FAILED, "Out of memory.")
    deletion = deletion_of(study)
    assert deletion == Deletion({"done": 1, "failed": 1, "queued": 1}, 3, 1, 0, 3, [Holder(both, 3), Holder(one, 1)])
    assert deletion.runs == 3


def test_a_study_that_shares_nothing_goes_whole(owner: User) -> None:
    assert deletion_of(lab.launched(owner)) == Deletion({"queued": 6}, 0, 0, 0, 0, [])
