"""The printed numbers of the presets that the compared studies were launched from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

from experiments.charts.diamonds import Diamond
from experiments.charts.values import Wanted
from experiments.compare.choices import Choices
from experiments.compare.picked import Picked
from experiments.presets.marks import Marks, marks_of, of_value, on_curve
from experiments.selectors.presets import full_specs, preset_of


def printed_in(picked: Picked) -> Marks:
    """By cell; none for runs that were picked without a study."""
    found: Marks = {}
    for preset in {own.name: own for study in picked.studies if (own := preset_of(study))}.values():
        for cell, printed in marks_of(preset, picked.specs, cache(partial(full_specs, preset))).items():
            found.setdefault(cell, []).extend(printed)
    return found


def curve_marks(picked: Picked, choices: Choices) -> dict[str, list[Diamond]]:
    return {
        cell: on_curve(printed, choices.metric, picked.specs[cell]["rounds"])
        for cell, printed in printed_in(picked).items()
    }


def value_marks(picked: Picked, metric: str, wanted: Wanted) -> Mapping[str, Diamond]:
    found = {cell: of_value(printed, metric, wanted) for cell, printed in printed_in(picked).items()}
    return {cell: each for cell, each in found.items() if each}
