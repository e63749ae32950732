"""The example apps are what Flower itself takes for an app, and `reference.json` is what Flower gives for them."""

from pathlib import Path

import pytest
from flwr.cli.config_utils import get_fab_metadata, load_and_validate
from flwr.common.config import get_fused_config_from_dir

from tests.workers.apps import reference
from tests.workers.apps.archives import build_bundle

PLACES = (reference.EXAMPLES, reference.HOSTILE)
FOLDERS = sorted(path.parent for place in PLACES for path in place.glob("*/pyproject.toml"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_flower_finds_nothing_wrong_with_the_manifest(folder: Path):
    config, warnings = load_and_validate(folder / "pyproject.toml")
    assert (config["project"]["name"], warnings) == (folder.name, [])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_flower_builds_a_bundle_of_it(folder: Path):
    assert get_fab_metadata(build_bundle(folder)) == (f"tributary/{folder.name}", "1.0.0")


def test_the_reference_covers_every_example_with_the_configuration_that_it_has():
    apps = reference.read_reference()["apps"]
    folders = reference.app_folders()
    assert sorted(apps) == sorted(folders)
    for name, entry in apps.items():
        assert entry["config"] == get_fused_config_from_dir(folders[name], {}), name


def test_apps_with_a_strategy_have_metrics_of_each_round():
    apps = reference.read_reference()["apps"]
    loops = {"actions-and-lifespans", "federated-analytics"}
    assert {name for name, entry in apps.items() if not entry["rounds"]} == loops
    assert {entry["rounds"] for name, entry in apps.items() if name not in loops} == {3}


def test_all_apps_but_those_that_draw_from_global_generators_are_deterministic():
    apps = reference.read_reference()["apps"]
    assert {name for name, entry in apps.items() if not entry["deterministic"]} == {
        "numpy-global-random",
        "torch-digits",
    }


def test_what_a_client_changed_before_it_raised_is_forgotten_by_flower():
    entry = reference.read_reference()["apps"]["raises-in-client"]
    assert entry["replies"]["train"] == {
        "count": 15,
        "errors": 3,
        "keys": {"metrics": ["calls", "loss", "num-examples"]},
    }
    # Clients 1, 2 and 3 raise in turn: of the four that reply, one has counted a round less, then two have.
    assert [entry["metrics"]["train"][str(number)]["calls"] for number in (1, 2, 3)] == [1.0, 1.75, 2.5]


def test_flowers_own_simulation_gives_what_the_reference_says():
    expected, result = (
        reference.read_reference()["apps"]["strategy-subclass"],
        reference.run_on_flower("strategy-subclass"),
    )
    assert result["metrics"]["evaluate"]["3"]["recall-per-class"] == pytest.approx([1.0, 0.9153691813804173, 1.0])
    assert result["replies"] == expected["replies"]
    assert reference.without_values(result["metrics"]) == reference.without_values(expected["metrics"])
    assert reference.largest_difference(reference.numbers(result), reference.numbers(expected)) < 1e-12
