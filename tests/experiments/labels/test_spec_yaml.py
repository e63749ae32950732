from __future__ import annotations

from experiments.labels.specs import in_spec_order
from experiments.studies.editor.source import yaml_from_study


def test_specs_are_written_in_the_order_in_which_people_think() -> None:
    shuffled = {"seed": 0, "strategy": {"mu": 0.1, "name": "fedprox"}, "dataset": {"name": "digits"}, "rounds": 3}
    assert list(in_spec_order(shuffled)) == ["dataset", "strategy", "rounds", "seed"]
    assert yaml_from_study({"blocks": [shuffled], "name": "x", "description": ""}) == (
        "name: x\nblocks:\n- dataset: {name: digits}\n  strategy: {name: fedprox, mu: 0.1}\n  rounds: 3\n  seed: 0\n"
    )
