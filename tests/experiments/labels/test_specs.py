from __future__ import annotations

from typing import Any

from experiments.labels.specs import Fact, SpecDiff, class_names, in_spec_order, spec_diff, spec_words
from experiments.studies.editor.source import yaml_from_study
from workers.spec import parse_run


def spec(**changes: Any) -> dict[str, Any]:
    fields = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "strategy": {"name": "fedprox", "mu": 0.1}}
    return dict(parse_run({**fields, **changes}).model_dump(mode="json"))


def words(**changes: Any) -> dict[str, tuple[str, str]]:
    return {fact.name: (fact.value, fact.note) for fact in spec_words(spec(**changes))}


def test_a_plain_spec_is_told_without_what_is_off() -> None:
    facts = words()
    # 64 inputs and a bias for each of 10 classes
    assert facts["Model"] == ("Logistic regression", "650 parameters")
    assert facts["Strategy"] == ("FedProx", "μ = 0.1")
    assert facts["Clients"] == ("10", "all in every round")
    assert facts["Evaluation"] == ("on the test set", "every round")
    assert facts["Local training"][0] == "1 epoch, batches of 32"
    assert not {"Hybrid", "Feature noise", "Dropout", "Stragglers"} & set(facts)


def test_what_is_on_is_told() -> None:
    facts = words(
        hybrid={"method": "unify", "ratio": 0.25},
        feature_noise=0.1,
        cohort=3,
        client_dropout=0.2,
        rounds=1000,
        evaluation={"on": "clients", "every": 5},
        stop={"target_accuracy": 0.9, "patience": 4},
        attack={"name": "sign-flip", "share": 0.3},
        selection={"name": "power-of-choice", "candidates": 6},
    )
    assert facts["Selection"] == ("power-of-choice", "candidates = 6")
    assert facts["Attack"] == ("Sign flip", "share = 0.3 · scale = 1")
    assert facts["Hybrid"] == ("25% shared", "unify")
    assert facts["Feature noise"][0] == "σ = 0.1"
    assert facts["Clients"] == ("10", "3 a round")
    assert facts["Dropout"] == ("20%", "of the cohort")
    assert facts["Evaluation"] == ("on what all clients hold out", "20% of each · every 5 rounds and at the end")
    assert facts["Rounds"] == (
        "1,000",
        "ends at 90% accuracy · ends after 4 evaluations without a better test loss: chosen on the test set",
    )


def test_the_servers_schedule_is_told_where_there_is_one() -> None:
    facts = words(server_schedule={"name": "step", "every": 5, "gamma": 0.5})
    assert facts["Server"][0] == "step schedule warmup = 0 · every = 5 · γ = 0.5"
    assert "Server" not in words()


def test_how_clients_train_is_told_where_it_is_not_as_always() -> None:
    facts = words(
        local={
            "steps": 20,
            "clip_norm": 1.0,
            "label_smoothing": 0.1,
            "keep_optimizer": True,
            "schedule": {"name": "cosine", "warmup": 3},
            "augment": "crop",
        },
        dataset={"name": "blobs", "shape": [1, 8, 8]},
    )
    length, details = facts["Local training"]
    assert length == "20 steps, batches of 32"
    assert details.split(" · ")[-6:] == [
        "cosine schedule warmup = 3",
        "least = 0",
        "gradients clipped to 1",
        "labels smoothed by 0.1",
        "momentum kept",
        "augmented: crop",
    ]


def test_patience_is_told_with_the_loss_it_watches() -> None:
    facts = words(evaluation={"validation": 0.1}, stop={"patience": 4})
    assert facts["Rounds"] == ("20", "ends after 4 evaluations without a better validation loss")


def test_evaluation_on_both_and_what_validates_are_told() -> None:
    facts = words(evaluation={"on": "both", "validation": 0.1})
    assert facts["Evaluation"] == (
        "on the test set and on what all clients hold out",
        "20% of each · every round · 10% of each validates",
    )


def test_a_component_that_is_gone_is_told_by_its_name() -> None:
    gone = {**spec(), "strategy": {"name": "their-own", "mu": 0.5}}
    assert spec_words(gone)[:2] == [Fact("Strategy", "their-own", "μ = 0.5"), Fact("Model", "Logistic regression", "")]


def test_classes_have_names_where_the_data_set_gives_as_many() -> None:
    assert class_names(spec(), 10)[3] == "3"
    assert class_names(spec(), 2) == ("0", "1")
    assert class_names({**spec(), "strategy": {"name": "their-own"}}, 2) == ("0", "1")


def test_specs_are_written_in_the_order_in_which_people_think() -> None:
    shuffled = {"seed": 0, "strategy": {"mu": 0.1, "name": "fedprox"}, "dataset": {"name": "digits"}, "rounds": 3}
    assert list(in_spec_order(shuffled)) == ["dataset", "strategy", "rounds", "seed"]
    assert yaml_from_study({"blocks": [shuffled], "name": "x", "description": ""}) == (
        "name: x\nblocks:\n- dataset: {name: digits}\n  strategy: {name: fedprox, mu: 0.1}\n  rounds: 3\n  seed: 0\n"
    )


def test_it_lists_fields_that_differ_and_counts_the_rest() -> None:
    first = {
        "strategy": {"name": "fedavg"},
        "clients": 10,
        "rounds": 20,
        "local": {"optimizer": {"name": "sgd", "lr": 0.1}},
    }
    second = {
        "strategy": {"name": "fedprox", "mu": 0.1},
        "clients": None,
        "rounds": 20,
        "local": {"optimizer": {"name": "sgd", "lr": 0.1}},
    }
    assert spec_diff(first, second) == SpecDiff(
        (("strategy", "fedavg", "fedprox"), ("clients", "10", "none"), ("strategy.mu", "–", "0.1")), 3
    )


def test_equal_specs_do_not_differ() -> None:
    assert spec_diff({"clients": 10}, {"clients": 10}) == SpecDiff((), 1)
