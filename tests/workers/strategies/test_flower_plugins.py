"""Strategies that a lab has written for Flower, in the folders of TRIBUTARY_PLUGINS."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.catalog.plugins.examples import write
from tests.workers.engine.test_resume import bits, curve, stop_and_resume
from tests.workers.engine.tiny import curve as values_of
from tests.workers.engine.tiny import distance, tiny
from tests.workers.strategies.test_flower import problems
from workers.catalog.plugins import StalePluginError
from workers.engine import simulate
from workers.engine.checkpoint import CheckpointPolicy
from workers.engine.server import hosted
from workers.errors import TributaryError
from workers.home import ROOT
from workers.spec import canonical_hash, parse_run
from workers.spec.identity import identity_parts
from workers.strategies import _flower_classes
from workers.strategies._flower_classes import ask_inspection
from workers.strategies._flower_inspection import load_class

MINE = """
import random
import numpy as np
from flwr.app import Array, ArrayRecord, MetricRecord
from flwr.serverapp.strategy import FedAvg, Strategy


class Remembering(FedAvg):
    '''Counts who was asked, keeps the last model and a generator, asks some only and shakes what it averages.'''

    def __init__(self, shake: float = 0.1, share=0.7, **others):
        super().__init__(**others)
        self.shake, self.share = shake, share
        self.asked = np.zeros(16)
        self.rng = np.random.default_rng(random.randrange(2**32))
        self.memory = {"rounds": [], "last": None}

    def configure_train(self, server_round, arrays, config, grid):
        messages = list(super().configure_train(server_round, arrays, config, grid))
        chosen = random.sample(messages, max(1, int(self.share * len(messages))))
        for message in chosen:
            self.asked[message.metadata.dst_node_id] += 1
        self.memory["rounds"].append(server_round)
        return chosen

    def aggregate_train(self, server_round, replies):
        arrays, metrics = super().aggregate_train(server_round, replies)
        noise = self.shake * (np.random.normal() + self.rng.normal() + random.random() + 0.01 * self.asked.sum())
        arrays = ArrayRecord({name: Array(each.numpy() * (1 + 0.01 * noise)) for name, each in arrays.items()})
        self.memory["last"] = arrays
        return arrays, MetricRecord({"asked": self.asked.tolist()[:2], "rounds": len(self.memory["rounds"])})


class Moments:
    def __init__(self):
        self.rounds = 0


class Hiding(FedAvg):
    def __init__(self, **others):
        super().__init__(**others)
        self.moments = Moments()

    def aggregate_train(self, server_round, replies):
        self.moments.rounds += 1
        return super().aggregate_train(server_round, replies)


class Waiting(FedAvg):
    def configure_train(self, server_round, arrays, config, grid):
        self.min_available_nodes = 100
        return super().configure_train(server_round, arrays, config, grid)


class Telling(FedAvg):
    def configure_train(self, server_round, arrays, config, grid):
        config["learning-rate"] = 0.5
        return super().configure_train(server_round, arrays, config, grid)


class Pulling(FedAvg):
    '''FedProx under another name: the weight of the term comes and goes.'''

    def configure_train(self, server_round, arrays, config, grid):
        config["proximal-mu"] = 2.0
        return super().configure_train(server_round, arrays, config, grid)


class Looping(FedAvg):
    def start(self, *arguments, **options):
        raise AssertionError("never called")


class Unfinished(Strategy):
    def summary(self):
        pass


class Nothing:
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path))
    write(tmp_path, "strategies/_mine.py", MINE)
    return tmp_path


def mine(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": "flower", "class": f"strategies._mine.{name}", "arguments": arguments}


def test_what_it_remembers_and_draws_survives_a_stop(folder: Path, tmp_path: Path) -> None:
    """Its counts are changed in place before the stop comes, its draws are of three kinds."""
    local = {"epochs": 1, "batch_size": 2, "optimizer": {"name": "sgd", "lr": 0.1}}
    spec = tiny(strategy=mine("Remembering", shake=1), rounds=8, cohort=5, partition={"name": "iid"}, local=local)
    whole = simulate(spec, device="cpu")

    _, resumed = stop_and_resume(spec, tmp_path / "checkpoints", steps=40)

    assert curve(resumed.history) == curve(whole.history)
    assert bits(resumed) == bits(whole)
    assert [len(record.cohort) for record in whole.history[1:]] == [3] * 8
    assert values_of(whole, "flower.rounds") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert "flower.asked.1" in whole.history[1].metrics


def test_the_documented_strategy_runs_and_the_whole_way_is_fedavg(folder: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "flower.md").read_text(encoding="utf-8")
    write(folder, "strategies/_mine.py", page.split("```python\n")[1].split("```")[0])
    runs = {part: simulate(tiny(strategy=mine("Cautious", part=part)), device="cpu") for part in (0.5, 1.0)}

    assert distance(runs[1.0], simulate(tiny(), device="cpu")) < 1e-12
    assert distance(runs[0.5], runs[1.0]) > 1e-3
    _, resumed = stop_and_resume(tiny(strategy=mine("Cautious")), tmp_path / "checkpoints", steps=20)
    assert bits(resumed) == bits(runs[0.5])


def test_generators_of_the_process_are_left_alone(folder: Path) -> None:
    random.seed(3)
    np.random.seed(3)
    expected = random.random(), np.random.random()
    random.seed(3)
    np.random.seed(3)

    simulate(tiny(strategy=mine("Remembering"), rounds=1), device="cpu")

    assert (random.random(), np.random.random()) == expected


def test_what_cannot_be_saved_fails_the_run_at_its_first_checkpoint(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TributaryError, match=r"Hiding\.moments changes from round to round"):
        simulate(tiny(strategy=mine("Hiding")), checkpoint=CheckpointPolicy(tmp_path / "c", every=1), device="cpu")


def test_one_that_waits_for_more_clients_than_there_are_is_told_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosted, "MOST_QUESTIONS", 2)

    with pytest.raises(TributaryError, match="waits for more clients than the 3 of this round"):
        simulate(tiny(strategy=mine("Waiting")), device="cpu")


def test_what_clients_would_overlook_is_refused(folder: Path) -> None:
    with pytest.raises(TributaryError, match="Telling sends learning-rate to the clients"):
        simulate(tiny(strategy=mine("Telling")), device="cpu")


def test_a_proximal_term_is_honoured_whoever_sends_it(folder: Path) -> None:
    theirs = simulate(tiny(strategy=mine("Pulling")), device="cpu")

    assert distance(theirs, simulate(tiny(strategy={"name": "fedprox", "mu": 2.0}), device="cpu")) < 1e-12


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Looping",
            "strategies._mine.Looping overrides start(), which is never called here: the rounds are the engine's.",
        ),
        (
            "Unfinished",
            "strategies._mine.Unfinished lacks aggregate_evaluate, aggregate_train, configure_evaluate, "
            "configure_train().",
        ),
        ("Nothing", "strategies._mine.Nothing is no strategy: derive it from flwr.serverapp.strategy.Strategy."),
        ("Missing", "There is no class of the name strategies._mine.Missing."),
    ],
)
def test_a_class_that_cannot_be_hosted_is_refused_before_it_is_launched(folder: Path, name: str, message: str) -> None:
    assert problems(mine(name)) == [("strategy.class", message)]


def test_its_arguments_are_checked_those_of_its_parents_too(folder: Path) -> None:
    assert problems(mine("Remembering", shake="much", fraction_train=0.5, other=1)) == [
        (
            "strategy.arguments.fraction_train",
            "Not an argument here: the spec decides who takes part: set cohort or fraction instead.",
        ),
        ("strategy.arguments.other", "Remembering has no such argument. It takes shake, share."),
        ("strategy.arguments.shake", "Expected a number, got 'much'."),
    ]


def test_a_process_without_flower_asks_another_one(folder: Path) -> None:
    assert ask_inspection("strategies._mine.Remembering")["arguments"]["shake"] == {"kind": "number", "default": 0.1}


def test_a_file_that_prints_and_ends_its_process_is_told(folder: Path) -> None:
    write(folder, "strategies/_rude.py", "import os\nprint('bye')\nos._exit(7)\n")

    answer = ask_inspection("strategies._rude.Mine")

    assert answer == {"error": "Importing strategies._rude.Mine ended the process that tried: bye"}


def test_a_file_that_hangs_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_flower_classes, "PATIENCE_SECONDS", 2)
    write(folder, "strategies/_slow.py", "import time\ntime.sleep(60)\n")

    assert ask_inspection("strategies._slow.Mine") == {"error": "Importing strategies._slow.Mine took longer than 2 s."}


def test_the_files_content_is_part_of_the_identity_and_old_code_never_runs_as_new(folder: Path) -> None:
    spec = parse_run(tiny(strategy=mine("Remembering")))
    load_class("strategies._mine.Remembering")
    before = canonical_hash(spec)
    version = identity_parts(spec)["versions"]["strategy"]
    assert version.startswith("1+flwr-1.41.0+")

    write(folder, "strategies/_mine.py", MINE.replace("0.01 * noise", "0.02 * noise"))

    with pytest.raises(StalePluginError, match=r"Restart Tributary: the file of strategies\._mine\.Remembering"):
        canonical_hash(spec)
    write(folder, "strategies/_mine.py", MINE)
    assert canonical_hash(spec) == before


def app_with_strategy(folder: Path, body: str) -> None:
    """A Flower app of the lab with a strategy of its own beside its server."""
    package = folder / "my_app"
    package.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "my-app"\nversion = "1"\n'
        '[tool.flwr.app.components]\nserverapp = "my_app.server:app"\nclientapp = "my_app.client:app"\n'
    )
    (package / "__init__.py").touch()
    (package / "strategy.py").write_text(body)


def test_a_strategy_of_one_of_the_labs_apps_runs_and_its_content_is_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIBUTARY_APPS", str(tmp_path / "apps" / "mine"))
    monkeypatch.setattr(_flower_classes, "loaded_digests", {})
    monkeypatch.setattr("sys.path", [*sys.path])
    half = (
        "from flwr.app import Array, ArrayRecord\nfrom flwr.serverapp.strategy import FedAvg\n\n\n"
        "class Shrinking(FedAvg):\n"
        "    def __init__(self, factor: float = 0.5, **others):\n"
        "        super().__init__(**others)\n        self.factor = factor\n\n"
        "    def aggregate_train(self, server_round, replies):\n"
        "        arrays, metrics = super().aggregate_train(server_round, replies)\n"
        "        return ArrayRecord({n: Array(a.numpy() * self.factor) for n, a in arrays.items()}), metrics\n"
    )
    app_with_strategy(tmp_path / "apps" / "mine", half)
    mine = {"name": "flower", "class": "my-app:my_app.strategy.Shrinking", "arguments": {"factor": 1.0}}
    spec = tiny(strategy=mine, rounds=2)
    stock = tiny(strategy={"name": "flower", "class": "flwr.serverapp.strategy.FedAvg"}, rounds=2)
    # Shrunk by 1 it is FedAvg; by one half it is not.
    assert distance(simulate(spec), simulate(stock)) < 1e-12
    assert distance(simulate(spec), simulate(spec)) == 0.0
    smaller = tiny(strategy={**mine, "arguments": {"factor": 0.5}}, rounds=2)
    assert distance(simulate(smaller), simulate(stock)) > 0.01
    before = canonical_hash(parse_run(spec))
    (tmp_path / "apps" / "mine" / "README.md").write_text("another app")
    with pytest.raises(StalePluginError):
        canonical_hash(parse_run(spec))
    monkeypatch.setattr(_flower_classes, "loaded_digests", {})
    assert canonical_hash(parse_run(spec)) != before
    assert problems({**mine, "class": "nobodys:my_app.strategy.Shrinking"})[0][0] == "strategy.class"
    assert problems({**mine, "class": "my-app:my_app.strategy.Absent"}) == [
        ("strategy.class", "There is no class of the name my-app:my_app.strategy.Absent.")
    ]
    assert problems({**mine, "arguments": {"power": 1}})[0][1].startswith(
        "Shrinking has no such argument. It takes factor"
    )
