"""What a script says of its task: a logged run whose config names a data set is ranked among others of scripts.

A config speaks of the task with the spec's own words: `dataset`, `partition`, `partition.alpha`, `clients`, ...
Nobody here has seen the data, so that such numbers are never ranked together with those that the lab computed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from experiments.labels.names import component_name, value_text
from experiments.labels.specs import LOGGED_NOTE, Spec
from experiments.leaderboard.conditions import Conditions

DATA = ("dataset",)
PARTITION = ("partition",)
TASK: dict[str, tuple[str, ...]] = {
    "data": DATA,
    "partition": PARTITION,
    "clients": ("clients", "cohort", "fraction"),
    "sharing": ("hybrid",),
    "noise": ("feature_noise", "feature_noise_kind"),
    "faults": ("client_dropout", "stragglers"),
    "threats": ("attack", "privacy"),
    "evaluation": ("evaluation",),
}
"""Conditions, and the fields that say them; rounds are those that were logged."""
METHOD = "strategy"
NOT_SAID = "not said"


def script_config(spec: Spec) -> Mapping[str, Any]:
    config: Mapping[str, Any] = spec["app"]["config"]
    return config


def stated(spec: Spec, fields: tuple[str, ...]) -> dict[str, Any]:
    """Of the config, these fields and their parameters; `partition.name` is `partition`."""
    found = {
        key.removesuffix(".name"): value
        for key, value in script_config(spec).items()
        if key.partition(".")[0] in fields and key.removesuffix(".name")
    }
    return dict(sorted(found.items()))


def stated_name(spec: Spec, field: str) -> str:
    """Empty where the script does not say it."""
    return str(stated(spec, (field,)).get(field, ""))


def logged_conditions(spec: Spec, rounds: int) -> Conditions:
    values: dict[str, Any] = {name: stated(spec, fields) for name, fields in TASK.items()}
    values["data"] = [values["data"], LOGGED_NOTE]
    return Conditions(
        tuple((name, json.dumps(value, sort_keys=True)) for name, value in (*values.items(), ("rounds", rounds)))
    )


def logged_condition_words(spec: Spec, rounds: int) -> dict[str, str]:
    words = {name: stated_words(stated(spec, fields)) for name, fields in TASK.items()}
    words["data"] = f"{component_name('dataset', stated_name(spec, 'dataset'))} · {LOGGED_NOTE}"
    for name in ("sharing", "noise", "faults", "threats"):
        words[name] = words[name] if words[name] != NOT_SAID else "none"
    return {**words, "rounds": f"{rounds} round{'' if rounds == 1 else 's'}"}


def stated_words(values: Mapping[str, Any]) -> str:
    parts = [
        value_text(value) if "." not in key and isinstance(value, str) else f"{key} {value_text(value)}"
        for key, value in values.items()
    ]
    return " · ".join(parts) or NOT_SAID


def stated_partition(spec: Spec) -> str:
    """As an address names it, like `partition_key` of computed runs."""
    values = stated(spec, PARTITION)
    parameters = [f"{key.partition('.')[2]}={value_text(value)}" for key, value in values.items() if "." in key]
    return ",".join([str(values.get("partition", NOT_SAID)), *parameters])


def logged_method(spec: Spec) -> str:
    """The strategy that the script says, or the script."""
    return stated_name(spec, METHOD) or str(spec["app"]["name"])


def logged_method_label(spec: Spec) -> str:
    return component_name(METHOD, logged_method(spec))


def logged_settings(spec: Spec) -> str:
    """What is no condition of the task."""
    fields = {field for each in TASK.values() for field in each} | {METHOD}
    own = {
        key: value
        for key, value in script_config(spec).items()
        if key.partition(".")[0] not in fields or key.startswith(f"{METHOD}.")
    }
    own = {key: value for key, value in own.items() if key != f"{METHOD}.name"}
    words = [f"{key} {value_text(value)}" for key, value in sorted(own.items())]
    return " · ".join([str(spec["app"]["name"]), *words, LOGGED_NOTE])
