from __future__ import annotations

from experiments.compare.selectors.clients import client_accuracies, confusion_matrices
from experiments.models import Round, RunState, User
from tests.experiments import lab


def test_clients_are_read_at_the_last_round_in_which_they_were_evaluated(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))
    lab.record(runs[0], {"client_accuracy_mean": [0.1, 0.6], "accuracy": [0.1, 0.6, 0.7]})
    clients = {
        "0": {"accuracy": 0.5, "loss": 1.0},
        "10": {"accuracy": 0.75},
        "2": {"accuracy": 0.25},
        "-1": {"accuracy": 1.0},
    }
    Round.objects.filter(run=runs[0], round=1).update(clients=clients)
    Round.objects.filter(run=runs[0], round=2).update(clients={"0": {"samples": 3}})
    lab.record(runs[1], {"accuracy": [0.1]})
    # In the clients' order, without the shared client of hybrid sharing.
    assert client_accuracies(runs=[run.pk for run in runs]) == {runs[0].pk: [0.5, 0.25, 0.75]}


def test_confusion_matrices_are_those_of_finished_runs(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))
    for run, state in ((runs[0], RunState.DONE), (runs[1], RunState.FAILED)):
        run.findings = {"confusion": [[3, 1], [0, 4]]}
        lab.moved(run, state)
    lab.moved(runs[2], RunState.DONE)
    assert confusion_matrices(runs=[run.pk for run in runs]) == {runs[0].pk: [[3, 1], [0, 4]]}
