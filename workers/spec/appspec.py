"""`AppSpec`: one run of a lab's own Flower app, in place of data set, model, partition and strategy.

app: {name: my-app, config: {learning-rate: [0.01, 0.1], num-server-rounds: 10}, clients: 10}
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from workers.apps.library import find_app
from workers.apps.package import SEED_KEY, AppError, AppPackage, Scalar, flat_config
from workers.errors import Problem, SpecError
from workers.spec.runspec import RunSpec, SpecPart, parse_run, validation_problems

ROUND_KEYS = ("num-server-rounds", "num_server_rounds", "num-rounds", "num_rounds", "rounds")
ONLY_APP = "A run of an app has app, seed and engine only: the app brings its own data, model and strategy."
SEED_IS_OURS = "The run's own seed is put there: give `seeds` instead."
PERCENT = 100.0
LOGGED = "logged"


class MetricRule(SpecPart):
    """What a metric of the app is, in Tributary's words."""

    source: str
    """The app's own name of it, such as eval_acc."""
    unit: Literal["fraction", "percent"] = "fraction"
    """Percents are divided by 100."""

    def convert(self, value: float) -> float:
        return value / PERCENT if self.unit == "percent" else value


class AppChoice(SpecPart):
    name: str
    """An app of the lab; the page Apps lists them."""
    config: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Values of the app's own config; what is left out has the app's default."""
    clients: int = Field(10, ge=1, le=100_000)
    """Number of clients: each has its `partition-id`, from 0."""
    metrics: dict[str, MetricRule] = Field(default_factory=dict)
    """Metrics of the app under names of Tributary, as in {accuracy: {source: eval_acc}}."""


class AppSpec(SpecPart):
    app: AppChoice
    seed: int = Field(0, ge=0, lt=2**31)
    """Set in Python, NumPy and PyTorch before the server starts and before each client's message."""
    engine: Literal["auto", "ray"] = "auto"
    """auto: in one process, repeatable to the bit. ray: on Flower's own simulation backend."""

    @property
    def rounds(self) -> int | None:
        """As far as the app's config says it."""
        return rounds_in(self.app.config)


AnySpec = RunSpec | AppSpec


def rounds_in(config: Mapping[str, Any]) -> int | None:
    numbers = (config.get(key) for key in ROUND_KEYS)
    return next((number for number in numbers if type(number) is int and number > 0), None)


def says_rounds(spec: Mapping[str, Any]) -> bool:
    """Whether a stored spec tells how many rounds there will be: an app may not."""
    return not is_app(spec) or rounds_in(spec["app"]["config"]) is not None


def is_app(spec: Mapping[str, Any]) -> bool:
    """Of a spec as it is stored, flat or not; a run of an app has no data set, model, partition or strategy."""
    return "app" in spec


def is_logged(spec: Mapping[str, Any]) -> bool:
    """Of a stored spec: a script told the run from outside, under its own name and config in place of an app's."""
    return LOGGED in spec


def parse_spec(data: Mapping[str, Any] | AnySpec) -> AnySpec:
    """A valid spec of either kind, or a `SpecError` that lists every problem with its path."""
    if isinstance(data, AppSpec):
        return data
    if isinstance(data, Mapping) and "app" in data:
        return parse_app(data)
    return parse_run(data)


def parse_app(data: Mapping[str, Any]) -> AppSpec:
    """Checked against the app as it is now, with all of its config filled in."""
    fields = dict(data)
    unknown = [Problem(key, ONLY_APP) for key in fields if key not in AppSpec.model_fields]
    spec, problems = validated_spec({key: value for key, value in fields.items() if key in AppSpec.model_fields})
    problems = [*unknown, *problems]
    if spec is not None:
        try:
            package = find_app(spec.app.name)
        except AppError as error:
            problems.append(Problem("app.name", str(error)))
        else:
            problems += config_value_problems(spec, package)
            problems += metric_problems(spec)
    if problems or spec is None:
        raise SpecError(problems)
    return with_defaults(spec, package)


def validated_spec(fields: dict[str, Any]) -> tuple[AppSpec | None, list[Problem]]:
    app = fields.get("app")
    if isinstance(app, Mapping) and isinstance(app.get("config"), Mapping):
        fields = {**fields, "app": {**app, "config": flat_config(app["config"])}}
    try:
        return AppSpec.model_validate(fields), []
    except ValidationError as error:
        return None, list({problem.path: problem for problem in validation_problems(error, fields, AppSpec)}.values())


def config_value_problems(spec: AppSpec, package: AppPackage) -> Iterator[Problem]:
    for key, value in spec.app.config.items():
        path = f"app.config.{key}"
        if key not in package.config:
            known = ", ".join(package.config) or "nothing"
            yield Problem(path, f"Unknown field. {package.name} takes {known}.")
        elif key == SEED_KEY:
            yield Problem(path, SEED_IS_OURS)
        elif not fits_default(value, package.config[key]):
            yield Problem(path, f"{kind_name(package.config[key])}, as the app's default is, got {value!r}.")


def fits_default(value: Scalar, default: Scalar) -> bool:
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return type(value) is type(default)


def kind_name(default: Scalar) -> str:
    names: dict[type, str] = {bool: "True or false", int: "A whole number", float: "A number", str: "Text"}
    return names[type(default)]


def metric_problems(spec: AppSpec) -> Iterator[Problem]:
    for name, rule in spec.app.metrics.items():
        if not name.strip() or not rule.source.strip():
            yield Problem(f"app.metrics.{name}", "A rule needs our name of the metric and the app's.")


def with_defaults(spec: AppSpec, package: AppPackage) -> AppSpec:
    """Whatever key is left out has the app's default; numbers have its type, so that 1 and 1.0 are one value."""
    config = {
        key: float(value) if isinstance(default, float) else value
        for key, default in package.config.items()
        if key != SEED_KEY
        for value in [spec.app.config.get(key, default)]
    }
    return spec.model_copy(update={"app": spec.app.model_copy(update={"config": config})})
