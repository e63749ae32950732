"""Only what goes together is offered, and what is not is told why."""

from __future__ import annotations

from typing import Any

from experiments.studies.editor.misfits import block_misfits

BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedavg"},
    "clients": 10,
}


def test_models_that_do_not_take_the_data_are_not_offered() -> None:
    assert block_misfits(BLOCK)["model"]["lenet"] == "Pictures of 8 x 8 are too small: it needs at least 16 x 16."
    assert "mlp-50" not in block_misfits(BLOCK)["model"]
    assert "lenet" not in block_misfits({**BLOCK, "dataset": {"name": "mnist"}})["model"]


def test_natural_clients_are_offered_where_the_data_has_some() -> None:
    assert block_misfits(BLOCK)["partition"] == {"natural": "digits has no natural clients: choose another partition."}
    assert block_misfits({**BLOCK, "dataset": {"name": "uci-har"}})["partition"] == {}


def test_an_option_must_go_with_every_value_of_the_other_axes() -> None:
    both = {**BLOCK, "dataset": [{"name": "uci-har"}, {"name": "digits"}]}
    assert "natural" in block_misfits(both)["partition"]
    optimizers = [{"name": "sgd"}, {"name": "adam"}]
    assert "fednova" in block_misfits({**BLOCK, "local": {"optimizer": optimizers}})["strategy"]
    assert "fednova" not in block_misfits(BLOCK)["strategy"]


def test_a_value_that_no_longer_fits_leaves_the_others_on_offer() -> None:
    misfits = block_misfits({**BLOCK, "model": {"name": "lenet"}})
    assert "mlp-50" not in misfits["model"]
    assert misfits["strategy"] == block_misfits(BLOCK)["strategy"]


def test_a_wrong_number_elsewhere_hides_nothing() -> None:
    assert block_misfits({**BLOCK, "clients": "many", "rounds": 0, "speed": 1}) == block_misfits(BLOCK)


def test_what_is_no_block_offers_everything() -> None:
    for block in (None, "x", [], {}, {"dataset": []}):
        assert block_misfits(block).get("strategy", {}) == {}
