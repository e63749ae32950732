"""One run's spec: defaults as documented, every problem reported at its path."""

from __future__ import annotations

from typing import Any

import pytest

from workers.errors import Problem, SpecError
from workers.spec import RunSpec, parse_run, reference, varying_paths

LEAST: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedavg"},
}


def problems(**changes: Any) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        parse_run(LEAST | changes)
    return caught.value.errors


def test_three_names_are_enough_and_the_rest_has_documented_defaults() -> None:
    spec = parse_run(LEAST)
    assert spec.partition.name == "iid"
    assert (spec.clients, spec.cohort, spec.fraction, spec.rounds, spec.seed) == (10, None, 1.0, 20, 0)
    assert spec.model_dump()["local"] == {
        "epochs": 1,
        "batch_size": 32,
        "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
        "steps": None,
        "schedule": {"name": "constant", "warmup": 0},
        "clip_norm": None,
        "label_smoothing": 0.0,
        "keep_optimizer": False,
        "augment": "none",
        "class_weights": None,
    }
    assert spec.model_dump()["evaluation"] == {
        "on": "server",
        "every": 1,
        "clients": "all",
        "held_out": 0.2,
        "validation": 0.0,
    }
    assert spec.model_dump()["hybrid"] == {"method": "share-disjoint", "ratio": 0.0}
    assert (spec.engine, spec.precision) == ("auto", "float32")


def test_the_reference_of_fields_is_that_of_the_schema() -> None:
    """Written anew with `python -m workers.spec.reference`."""
    assert reference.PAGE.read_text() == reference.page_text()
    assert "| `stragglers` | `0.0` | number, 0 or more, 1 at most |" in reference.page_text()


def test_a_parsed_spec_is_taken_as_it_is() -> None:
    spec = parse_run(LEAST)
    assert parse_run(spec) is spec
    assert parse_run(spec.model_dump()) == spec


@pytest.mark.parametrize(
    ("clients", "fraction", "cohort", "expected"),
    [(10, 1.0, None, 10), (15, 0.7, None, 10), (10, 0.3, None, 3), (10, 0.01, None, 1), (30, 1.0, 5, 5)],
)
def test_the_cohort_is_a_number_or_the_floor_of_a_share(
    clients: int, fraction: float, cohort: int | None, expected: int
) -> None:
    spec = parse_run(LEAST | {"clients": clients, "fraction": fraction, "cohort": cohort})
    assert spec.cohort_size == expected


def test_every_problem_is_listed_at_once() -> None:
    found = problems(rounds=0, speed=9, strategy={"name": "fedprox", "mu": -1, "nu": 2}, model={"name": "mlp-51"})
    assert [problem.path for problem in found] == ["model", "rounds", "speed", "strategy.mu", "strategy.nu"]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    (problem,) = problems(strategy={"name": "fedmagic"})
    assert problem.path == "strategy"
    assert problem.message.startswith("Unknown name: fedmagic. Choose one of ")
    assert "fedavg" in problem.message


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"strategy": {"name": "fedporx"}}, "Unknown name: fedporx. Did you mean fedprox? Choose one of "),
        ({"round": 5}, "Unknown field. Did you mean rounds? Choose one of dataset, model, "),
        ({"local": {"epoch": 5}}, "Unknown field. Did you mean epochs? Choose one of "),
        ({"strategy": {"name": "scaffold", "opton": 1}}, "Unknown field. Did you mean option? Choose one of "),
        ({"colour": "red"}, "Unknown field. Choose one of "),
        ({"strategy": {"name": "fedavg", "mu": 1}}, "Unknown field. Choose one of "),
    ],
)
def test_what_was_mistyped_is_answered_with_what_may_be_meant(fields: dict[str, Any], hint: str) -> None:
    (problem,) = problems(**fields)
    assert problem.message.startswith(hint)
    assert ("Did you mean" in problem.message) is ("Did you mean" in hint)


@pytest.mark.parametrize("value", ["20", 20.5, True, None])
def test_rounds_take_whole_numbers_only(value: Any) -> None:
    assert [problem.path for problem in problems(rounds=value)] == ["rounds"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.1", True])
def test_shares_take_finite_numbers_only(value: Any) -> None:
    assert [problem.path for problem in problems(client_dropout=value)] == ["client_dropout"]


def test_a_whole_number_stands_for_a_real_one() -> None:
    assert parse_run(LEAST | {"fraction": 1}).fraction == 1.0


def test_a_component_must_be_a_mapping() -> None:
    assert problems(dataset="digits") == (Problem("dataset", "Expected a mapping such as {name: ...}, got 'digits'."),)


def test_a_component_needs_a_name() -> None:
    assert problems(strategy={"mu": 0.1}) == (Problem("strategy", "A name is required."),)


def test_more_clients_per_round_than_clients_are_refused() -> None:
    assert problems(cohort=11) == (Problem("cohort", "11 clients per round, but only 10 clients."),)


def test_more_clients_than_samples_are_refused() -> None:
    assert Problem("clients", "1438 clients, but only 1437 training samples.") in problems(clients=1438)


def test_all_natural_clients_need_a_data_set_that_has_some() -> None:
    assert Problem("clients", "digits has no natural clients: give a number.") in problems(clients=None)


def test_held_out_and_validation_must_leave_something_to_train_on() -> None:
    found = problems(evaluation={"on": "clients", "held_out": 0.5, "validation": 0.5})
    assert found == (Problem("evaluation.validation", "Held-out and validation parts leave nothing to train on."),)


def test_nesterov_without_momentum_is_refused() -> None:
    found = problems(local={"optimizer": {"name": "sgd", "nesterov": True}})
    assert found == (Problem("local.optimizer.nesterov", "Nesterov needs a momentum above 0."),)


def test_an_unknown_normalisation_is_refused() -> None:
    (problem,) = problems(dataset={"name": "digits", "normalise": "imagenet"})
    assert problem == Problem("dataset.normalise", "Unknown: imagenet. Choose one of default, none.")


def test_a_spec_cannot_be_changed() -> None:
    spec = parse_run(LEAST)
    with pytest.raises(ValueError, match="frozen"):
        spec.rounds = 5  # type: ignore[misc]


def test_the_schema_describes_every_field_a_form_needs() -> None:
    schema = RunSpec.model_json_schema()
    assert schema["properties"]["rounds"]["description"] == "Server steps."
    assert schema["properties"]["strategy"]["discriminator"]["propertyName"] == "name"


@pytest.mark.parametrize(
    "fields",
    [{"evaluation": {"on": "clients"}}, {"dataset": {"name": "blobs", "test": 0}, "model": {"name": "logistic"}}],
)
def test_sharing_everything_leaves_nothing_to_evaluate_on_at_the_clients(fields: dict[str, Any]) -> None:
    found = problems(hybrid={"ratio": 1.0}, **fields)
    assert [problem.path for problem in found] == ["hybrid.ratio"]
    assert found[0].message.startswith("At ratio 1 everything is shared")


def test_a_strategy_that_needs_validation_has_it_in_its_spec() -> None:
    spec = parse_run(LEAST | {"strategy": {"name": "fedloss"}})
    assert spec.evaluation.validation == 0.1
    assert spec.model_dump(mode="json")["evaluation"]["validation"] == 0.1
    assert parse_run(LEAST).evaluation.validation == 0.0


def test_a_validation_part_that_is_given_wins() -> None:
    assert parse_run(LEAST | {"strategy": {"name": "fedloss"}, "evaluation": {"validation": 0.3}}).evaluation == (
        parse_run(LEAST | {"evaluation": {"validation": 0.3}}).evaluation
    )


def test_the_needed_validation_part_leaves_something_to_train_on() -> None:
    spec = parse_run(LEAST | {"strategy": {"name": "fedloss"}, "evaluation": {"on": "clients", "held_out": 0.9}})
    assert spec.evaluation.validation == pytest.approx(0.05)


def test_no_validation_part_for_a_strategy_that_needs_one_is_refused() -> None:
    message = "FedLoss needs a validation part: take a share above 0, or leave the field out, which means 0.1."
    assert problems(strategy={"name": "fedloss"}, evaluation={"validation": 0.0}) == (
        Problem("evaluation.validation", message),
    )


@pytest.mark.parametrize(
    ("method", "ratio", "fraction", "expected"),
    [("unify", 0.8, 0.2, 2), ("unify", 0.8, 1.0, 10), ("share-disjoint", 0.8, 0.2, 10), ("unify", 1.0, 0.2, 1)],
)
def test_a_fraction_is_of_the_clients_that_sharing_left_with_data(
    method: str, ratio: float, fraction: float, expected: int
) -> None:
    """Of 50 clients, 40 give everything under unify at 0.8: 0.2 of the other 10 are 2."""
    hybrid = {"method": method, "ratio": ratio}
    assert parse_run(LEAST | {"clients": 50, "hybrid": hybrid, "fraction": fraction}).cohort_size == expected


def test_everything_shared_leaves_nothing_to_evaluate_on_clients_and_server_together() -> None:
    assert [each.path for each in problems(evaluation={"on": "both"}, hybrid={"ratio": 1.0})] == ["hybrid.ratio"]


def test_class_weights_are_one_number_for_each_class() -> None:
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    spec = parse_run(LEAST | {"dataset": {"name": "uci-har"}, "local": {"class_weights": weights}})
    assert spec.local.class_weights == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)

    har = {"dataset": {"name": "uci-har"}}
    (problem,) = problems(**har, local={"class_weights": [1.0, 2.0]})
    assert (problem.path, problem.message) == (
        "local.class_weights",
        "2 weights, but uci-har has 6 classes: one each.",
    )
    (problem,) = problems(**har, local={"class_weights": [0.0] * 6})
    assert problem.message.startswith("All weights are 0")
    (problem,) = problems(**har, local={"class_weights": [-1.0, *weights[1:]]})
    assert problem.path.startswith("local.class_weights")
    (problem,) = problems(**har, local={"class_weights": weights}, strategy={"name": "athena"})
    assert problem.message == "The models that ATHENA-FL trains have other classes: leave it empty."


def test_a_stored_spec_without_a_later_field_does_not_vary_in_it() -> None:
    new = parse_run(LEAST).model_dump(mode="json")
    old = {name: value for name, value in new.items() if name != "feature_noise_kind"}
    assert varying_paths([old, new, old]) == []
    assert varying_paths([old, {**new, "feature_noise_kind": "deviation"}]) == ["feature_noise_kind"]
