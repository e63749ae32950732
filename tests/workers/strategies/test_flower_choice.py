"""What a spec may say about a strategy of Flower's, told without Flower: classes, arguments, identity."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import flwr.serverapp.strategy as flower
import pytest

from tests.workers.engine.tiny import tiny
from tests.workers.strategies.test_flower import DIGITS, problems, stock
from workers.catalog import load_catalog
from workers.errors import SpecError
from workers.spec import canonical_hash, expand, parse_run
from workers.spec.identity import identity_parts
from workers.strategies._flower_classes import REFUSED, TABLE, class_facts, flower_table
from workers.strategies._flower_inspection import table_text
from workers.strategies.flower import LIMITS, OWNED_BY_SPEC, limit_problem

FEDAVG = {"class": "flwr.serverapp.strategy.FedAvg"}


def test_the_table_is_that_of_the_flower_that_is_installed() -> None:
    """After an upgrade of Flower: `python -m workers.strategies._flower_inspection`."""
    assert TABLE.read_text(encoding="utf-8") == table_text()


def test_the_web_process_checks_them_without_flower() -> None:
    code = f"""
import sys
sys.modules["flwr"] = sys.modules["torch"] = None
from workers.errors import SpecError
from workers.spec import parse_run
parse_run({tiny(strategy=stock("FedAdam", eta=0.1))!r})
try:
    parse_run({tiny(strategy=stock("FedAdam", eta="much"))!r})
except SpecError as error:
    print(error.errors[0].path)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("strategy.arguments.eta\n", "")


@pytest.mark.parametrize(
    ("strategy", "path", "message"),
    [
        (
            stock("FedAdam", eta="much"),
            "strategy.arguments.eta",
            "Expected a number, got 'much'.",
        ),
        (stock("FedAdam", eta=True), "strategy.arguments.eta", "Expected a number, got True."),
        (stock("FedAdam", eta=float("inf")), "strategy.arguments.eta", "Expected a finite number, got inf."),
        (
            stock("Krum", num_malicious_nodes=1.0),
            "strategy.arguments.num_malicious_nodes",
            "Expected a whole number, got 1.0.",
        ),
        (
            stock("FedAdam", lr=0.1),
            "strategy.arguments.lr",
            "FedAdam has no such argument. It takes eta, beta_1, beta_2, tau.",
        ),
        (stock("FedMedian", x=0.1), "strategy.arguments.x", "FedMedian has no such argument. It takes none."),
        (
            stock("FedAvg", fraction_train=0.5),
            "strategy.arguments.fraction_train",
            "Not an argument here: the spec decides who takes part: set cohort or fraction instead.",
        ),
        (
            stock("QFedAvg", client_learning_rate=0.1),
            "strategy.arguments.client_learning_rate",
            "Not an argument here: it is that of the clients: set local.optimizer.lr instead.",
        ),
        (
            stock("Bulyan", selection_rule="krum"),
            "strategy.arguments.selection_rule",
            "It takes a function or an object, which no spec can hold: derive a class of your own that sets it, in a "
            "plugin folder.",
        ),
        (stock("FedTrimmedAvg", beta=0.5), "strategy.arguments.beta", "It must be 0 or more, below 0.5, got 0.5."),
        (
            stock("Bulyan", num_malicious_nodes=1),
            "strategy.arguments.num_malicious_nodes",
            "Bulyan aggregates nothing with fewer than 4 num_malicious_nodes + 3 = 7 clients a round; it has 3.",
        ),
        (
            stock("DifferentialPrivacyServerSideFixedClipping", noise_multiplier=1, strategy=FEDAVG),
            "strategy.arguments",
            "DifferentialPrivacyServerSideFixedClipping needs clipping_norm.",
        ),
        (
            stock(
                "DifferentialPrivacyServerSideFixedClipping",
                noise_multiplier=1,
                clipping_norm=1,
                num_sampled_clients=5,
                strategy=FEDAVG,
            ),
            "strategy.arguments.num_sampled_clients",
            "A round has 3 clients, not 5: leave it out, which means 3.",
        ),
        (
            stock("DifferentialPrivacyServerSideAdaptiveClipping", noise_multiplier=0.3, strategy=FEDAVG),
            "strategy.arguments.noise_multiplier",
            "It must be below twice clipped_count_stddev, which is 0.15 (unless given, a twentieth of the round's "
            "clients).",
        ),
        (
            stock("DifferentialPrivacyServerSideAdaptiveClipping", noise_multiplier=0.1, strategy="FedAvg"),
            "strategy.arguments.strategy",
            "Expected a strategy such as {class: flwr.serverapp.strategy.FedAvg, arguments: {}}.",
        ),
        (
            stock(
                "DifferentialPrivacyServerSideAdaptiveClipping",
                noise_multiplier=0.1,
                strategy={**FEDAVG, "arguments": {"min_train_nodes": 3}},
            ),
            "strategy.arguments.strategy.arguments.min_train_nodes",
            "Not an argument here: the spec decides who takes part: set cohort or fraction instead.",
        ),
    ],
)
def test_what_does_not_fit_is_told_with_its_path(strategy: dict[str, Any], path: str, message: str) -> None:
    assert problems(strategy) == [(path, message)]


@pytest.mark.parametrize(
    "path", ["os.system", "subprocess.Popen", "flower", "../evil.Strategy", "a..b", "workers.errors.Problem"]
)
def test_nothing_but_flower_and_the_plugin_folders_can_be_named(path: str) -> None:
    [(place, message)] = problems({"name": "flower", "class": path})

    assert place == "strategy.class"
    assert message.startswith(f"There is no strategy class {path}.")


@pytest.mark.parametrize("path", ["flwr.server.strategy.FedAvg", "flwr.serverapp.strategy.FedOpt", "flwr.cli.app.run"])
def test_of_flower_only_its_public_strategies_can_be_named(path: str) -> None:
    [(place, message)] = problems({"name": "flower", "class": path})

    assert place == "strategy.class"
    assert message.startswith(f"Flower 1.41.0 has no strategy {path}. Write flwr.serverapp.strategy. and one of Bulyan")


def test_the_shared_client_of_hybrid_sharing_is_one_of_those_that_noise_is_made_for() -> None:
    arguments = {"noise_multiplier": 1, "clipping_norm": 1, "strategy": FEDAVG}
    private = stock("DifferentialPrivacyServerSideFixedClipping", **arguments, num_sampled_clients=4)

    parse_run(tiny(strategy=private, hybrid={"method": "share-disjoint", "ratio": 0.3}))
    assert problems(private)[0][0] == "strategy.arguments.num_sampled_clients"


def test_batch_statistics_and_noise_do_not_go_together() -> None:
    private = stock("DifferentialPrivacyServerSideFixedClipping", noise_multiplier=1, clipping_norm=1, strategy=FEDAVG)

    [(path, message)] = problems(private, model={"name": "mlp-50", "norm": "batch"})

    assert path == "model"
    assert "without noise" in message


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        ("FedTrimmedAvg", "beta", 0.5),
        ("DifferentialPrivacyServerSideFixedClipping", "noise_multiplier", -0.1),
        ("DifferentialPrivacyServerSideFixedClipping", "clipping_norm", 0.0),
        ("DifferentialPrivacyServerSideAdaptiveClipping", "initial_clipping_norm", 0.0),
        ("DifferentialPrivacyServerSideAdaptiveClipping", "target_clipped_quantile", 1.5),
        ("DifferentialPrivacyServerSideAdaptiveClipping", "clip_norm_lr", 0.0),
        ("DifferentialPrivacyServerSideAdaptiveClipping", "clipped_count_stddev", -1.0),
    ],
)
def test_what_flower_refuses_in_its_constructors_is_refused_before(name: str, argument: str, value: float) -> None:
    needed = {"strategy": flower.FedAvg(), "noise_multiplier": 0.0, "clipping_norm": 1.0, "num_sampled_clients": 3}
    takes = class_facts(f"flwr.serverapp.strategy.{name}").arguments
    arguments = {key: each for key, each in needed.items() if key in takes} | {argument: value}

    assert limit_problem(argument, value)
    with pytest.raises(ValueError, match=r"must|should|range"):
        getattr(flower, name)(**arguments)


def test_what_the_spec_owns_and_limits_are_arguments_of_flowers() -> None:
    known = {name for each in flower_table()["classes"].values() for name in each}

    assert set(OWNED_BY_SPEC) | set(LIMITS) <= known
    assert set(REFUSED) <= set(flower_table()["classes"])


def test_lists_inside_arguments_are_axes_as_everywhere() -> None:
    grid = expand([DIGITS | {"strategy": stock("FedAdam", eta=[0.1, 0.2], tau=[0.001, 0.01, 1])}])

    arguments = [run.spec.model_dump()["strategy"]["arguments"] for run in grid.runs]
    assert len(arguments) == 6
    assert arguments[0] == {"eta": 0.1, "tau": 0.001}
    assert arguments[-1] == {"eta": 0.2, "tau": 1.0}


def test_a_problem_is_told_where_it_was_written() -> None:
    with pytest.raises(SpecError) as refusal:
        expand([DIGITS | {"strategy": stock("FedAdam", eta=[0.1, "much"])}])

    assert [each.path for each in refusal.value.errors] == ["blocks.0.strategy.arguments.eta.1"]


def test_one_and_one_point_nought_are_one_run() -> None:
    one, other, third = (parse_run(tiny(strategy=stock("FedAdam", eta=eta))) for eta in (1, 1.0, 2))

    assert canonical_hash(one) == canonical_hash(other) != canonical_hash(third)


def test_flowers_version_is_part_of_a_runs_identity() -> None:
    parts = identity_parts(parse_run(tiny(strategy=stock("FedAdam"))))

    assert parts["versions"]["strategy"] == "1+flwr-1.41.0"
    assert parts["spec"]["strategy"] == {"name": "flower", "class": "flwr.serverapp.strategy.FedAdam"}
    assert identity_parts(parse_run(tiny()))["versions"]["strategy"] == 1


def test_the_catalog_offers_classes_and_an_empty_mapping() -> None:
    properties = load_catalog().strategies["flower"].Params.model_json_schema()["properties"]

    assert properties["class"]["default"] == "flwr.serverapp.strategy.FedAvg"
    assert "flwr.serverapp.strategy.FedYogi" in properties["class"]["examples"]
    assert "flwr.serverapp.strategy.FedXgbCyclic" not in properties["class"]["examples"]
    assert (properties["arguments"]["type"], properties["arguments"]["default"]) == ("object", {})
