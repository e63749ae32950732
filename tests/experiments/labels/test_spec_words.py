from __future__ import annotations

from typing import Any

from experiments.labels.specs import Fact, class_names, spec_words
from workers.spec import parse_run


def spec(**changes: Any) -> dict[str, Any]:
    given = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "strategy": {"name": "fedprox", "mu": 0.1}}
    return dict(parse_run({**given, **changes}).model_dump(mode="json"))


def words(**changes: Any) -> dict[str, tuple[str, str]]:
    return {fact.name: (fact.value, fact.note) for fact in spec_words(spec(**changes))}


def test_a_plain_spec_is_told_without_what_is_off() -> None:
    found = words()
    # 64 inputs and a bias for each of 10 classes
    assert found["Model"] == ("Logistic regression", "650 parameters")
    assert found["Strategy"] == ("FedProx", "mu 0.1")
    assert found["Clients"] == ("10", "all in every round")
    assert found["Evaluation"] == ("on the test set", "every round")
    assert found["Local training"][0] == "1 epoch, batches of 32"
    assert not {"Hybrid", "Feature noise", "Dropout", "Stragglers"} & set(found)


def test_what_is_on_is_told() -> None:
    found = words(
        hybrid={"method": "unify", "ratio": 0.25},
        feature_noise=0.1,
        cohort=3,
        client_dropout=0.2,
        rounds=1000,
        evaluation={"on": "clients", "every": 5},
        stop={"target_accuracy": 0.9, "patience": 4},
    )
    assert found["Hybrid"] == ("25% shared", "unify")
    assert found["Feature noise"][0] == "sigma 0.1"
    assert found["Clients"] == ("10", "3 a round")
    assert found["Dropout"] == ("20%", "of the cohort")
    assert found["Evaluation"] == ("on what all clients hold out", "20% of each · every 5 rounds and at the end")
    assert found["Rounds"] == ("1,000", "ends at 90% accuracy · ends after 4 evaluations without a better loss")


def test_a_component_that_is_gone_is_told_by_its_name() -> None:
    gone = {**spec(), "strategy": {"name": "their-own", "mu": 0.5}}
    assert spec_words(gone)[:2] == [Fact("Strategy", "their-own", "mu 0.5"), Fact("Model", "Logistic regression", "")]


def test_classes_have_names_where_the_data_set_gives_as_many() -> None:
    assert class_names(spec(), 10)[3] == "3"
    assert class_names(spec(), 2) == ("0", "1")
    assert class_names({**spec(), "strategy": {"name": "their-own"}}, 2) == ("0", "1")
