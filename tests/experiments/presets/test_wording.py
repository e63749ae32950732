from __future__ import annotations

from experiments.presets import wording
from experiments.presets.preset import Published
from tests.experiments.presets.test_comparison import number


def test_units_are_those_of_the_number() -> None:
    def unit(**fields: object) -> str:
        return wording.unit_text(Published.model_validate(number(**fields)))  # type: ignore[arg-type]

    assert unit() == "%"
    assert unit(unit="round", reading={"take": "reach", "target": 0.9}) == "rounds"
    assert unit(unit="round", reading={"take": "argmax"}) == ""
    assert unit(unit="points") == "points"
    assert unit(reading={"take": "variance", "first": 16, "last": 100}) == "%²"
