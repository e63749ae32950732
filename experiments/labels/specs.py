"""A run's spec for readers: in words without what is off or as always, as YAML in the order people write it, and
where two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel

from experiments.labels.names import COMPONENT_KINDS, component_name, parameter_words, value_text
from workers.catalog import load_catalog
from workers.catalog.part import part_options
from workers.errors import TributaryError
from workers.spec import RunSpec, flatten, is_app, is_logged, parse_run
from workers.spec.yaml import SpecLoader

Spec = Mapping[str, Any]
VERSION_LETTERS = 12
LOGGED_NOTE = "logged, not computed here"
FAULT_TITLES = {"client_dropout": "Dropout", "stragglers": "Stragglers"}


@dataclass(frozen=True)
class Fact:
    name: str
    value: str
    note: str = ""


def spec_words(spec: Spec, sources: Spec | None = None) -> list[Fact]:
    """`sources` is what the run was launched with (`Run.launch_sources`): the version of its app."""
    return app_words(spec, sources or {}) if is_app(spec) else engine_words(spec)


def app_words(spec: Spec, sources: Spec) -> list[Fact]:
    """The app, its config as the app spells it, and what is measured under another name."""
    app = spec["app"]
    version = str(sources.get("versions", {}).get("app", ""))[:VERSION_LETTERS]
    config = [Fact(key, value_text(value)) for key, value in sorted(app["config"].items())]
    metrics = [
        Fact(f"Metric {name}", str(rule["source"]), "in percent" if rule["unit"] == "percent" else "")
        for name, rule in app.get("metrics", {}).items()
    ]
    if is_logged(spec):
        return [Fact("Script", str(app["name"]), LOGGED_NOTE), *config, Fact("Seed", str(spec["seed"]))]
    name = Fact("App", str(app["name"]), f"version {version}" if version else "")
    return [name, Fact("Clients", f"{app['clients']:,}"), *config, *metrics, Fact("Seed", str(spec["seed"]))]


def engine_words(spec: Spec) -> list[Fact]:
    return [
        component_fact(spec, "strategy", "Strategy"),
        component_fact(spec, "model", "Model", note=model_note(spec)),
        component_fact(spec, "dataset", "Data set", note=unusual_parameters(spec, "dataset")),
        component_fact(spec, "partition", "Partition"),
        *sharing_facts(spec),
        clients_fact(spec),
        *selection_facts(spec),
        *fault_facts(spec),
        *part_facts(spec),
        training_fact(spec),
        *server_schedule_facts(spec),
        evaluation_fact(spec),
        rounds_fact(spec),
        Fact("Seed", str(spec["seed"])),
        Fact("Precision", str(spec["precision"])),
    ]


def component_fact(spec: Spec, kind: str, title: str, note: str | None = None) -> Fact:
    """By its label in the catalog; one whose plugin is gone by its name."""
    component = load_catalog().components[COMPONENT_KINDS[kind]].get(spec[kind]["name"])
    return Fact(
        title,
        component.label if component else str(spec[kind]["name"]),
        parameters_text(spec[kind]) if note is None else note,
    )


def unusual_parameters(spec: Spec, kind: str) -> str:
    """Its parameters without those that are as always."""
    component = load_catalog().components[COMPONENT_KINDS[kind]].get(spec[kind]["name"])
    defaults = component.Params(name=component.name).model_dump(mode="json") if component else {}
    return parameters_text({key: value for key, value in spec[kind].items() if defaults.get(key, ...) != value})


def parameters_text(parameters: Spec) -> str:
    return " · ".join(parameter_words(key, value) for key, value in parameters.items() if key != "name")


def model_note(spec: Spec) -> str:
    run = try_parse_run(spec)
    if run is None:
        return ""
    facts = run.dataset_facts
    count = load_catalog().models[run.model.name].parameter_count(facts.shape, facts.classes, run.model)
    return " · ".join(part for part in (f"{count:,} parameters", unusual_parameters(spec, "model")) if part)


def try_parse_run(spec: Spec) -> RunSpec | None:
    """None where the catalog no longer takes it: a plugin or a data set has gone."""
    try:
        return parse_run(spec)
    except TributaryError:
        return None


def class_names(spec: Spec, count: int) -> tuple[str, ...]:
    run = try_parse_run(spec)
    names = run.dataset_facts.class_names if run else ()
    return names if len(names) == count else tuple(map(str, range(count)))


def sharing_facts(spec: Spec) -> Iterator[Fact]:
    hybrid = spec["hybrid"]
    if hybrid["ratio"]:
        yield Fact("Hybrid", f"{hybrid['ratio']:.0%} shared", str(hybrid["method"]))
    if spec["feature_noise"]:
        yield Fact(
            "Feature noise",
            f"σ = {value_text(spec['feature_noise'])}",
            f"{spec.get('feature_noise_kind', 'variance')} grows from client to client",
        )


def clients_fact(spec: Spec) -> Fact:
    everyone = "all natural ones" if spec["clients"] is None else f"{spec['clients']:,}"
    if spec["cohort"]:
        return Fact("Clients", everyone, f"{spec['cohort']:,} a round")
    return Fact(
        "Clients", everyone, "all in every round" if spec["fraction"] == 1 else f"{spec['fraction']:.0%} a round"
    )


def fault_facts(spec: Spec) -> Iterator[Fact]:
    for field, title in FAULT_TITLES.items():
        if spec[field]:
            yield Fact(title, f"{spec[field]:.0%}", "of the cohort")


def selection_facts(spec: Spec) -> Iterator[Fact]:
    selection = spec.get("selection") or {"name": "uniform"}
    if selection["name"] != "uniform":
        yield Fact("Selection", str(selection["name"]), parameters_text(selection))


def part_facts(spec: Spec) -> Iterator[Fact]:
    """What is optional and there, such as an attack, by its label."""
    for path, labels in part_labels().items():
        if labels and (part := spec.get(path)):
            yield Fact(path.capitalize(), labels.get(part["name"], part["name"]), parameters_text(part))


@cache
def part_labels() -> dict[str, dict[str, str]]:
    """For each optional part of a spec the labels of what may be chosen."""
    schema = RunSpec.model_json_schema()
    optional = {path: field for path, field in schema["properties"].items() if "anyOf" in field}
    return {
        path: {option.name: option.label for option in part_options(field, schema)} for path, field in optional.items()
    }


def training_fact(spec: Spec) -> Fact:
    local, optimizer = spec["local"], spec["local"]["optimizer"]
    name = component_name("local.optimizer", optimizer["name"])
    count, unit = (steps, "step") if (steps := local.get("steps")) else (local["epochs"], "epoch")
    length = f"{count:,} {unit}{'' if count == 1 else 's'}"
    return Fact(
        "Local training",
        f"{length}, batches of {local['batch_size']:,}",
        " · ".join(filter(None, [name, parameters_text(optimizer), *training_details(local)])),
    )


def training_details(local: Spec) -> Iterator[str]:
    """What is not as always."""
    yield class_weights_text(local)
    yield schedule_text(local.get("schedule"))
    if local.get("clip_norm"):
        yield f"gradients clipped to {value_text(local['clip_norm'])}"
    if local.get("label_smoothing"):
        yield f"labels smoothed by {value_text(local['label_smoothing'])}"
    if local.get("keep_optimizer"):
        yield "momentum kept"
    if local.get("augment", "none") != "none":
        yield f"augmented: {local['augment']}"


def server_schedule_facts(spec: Spec) -> Iterator[Fact]:
    if text := schedule_text(spec.get("server_schedule")):
        yield Fact("Server", text)


def schedule_text(schedule: Spec | None) -> str:
    """Nothing where it is always the same."""
    if schedule is None or (schedule["name"] == "constant" and not schedule.get("warmup")):
        return ""
    return " ".join(filter(None, [f"{schedule['name']} schedule", parameters_text(schedule)]))


def class_weights_text(local: Spec) -> str:
    weights = local.get("class_weights")
    return f"classes weigh {', '.join(map(value_text, weights))}" if weights else ""


def evaluation_fact(spec: Spec) -> Fact:
    evaluation = spec["evaluation"]
    often = "every round" if evaluation["every"] == 1 else f"every {evaluation['every']} rounds and at the end"
    who = "all clients" if evaluation["clients"] == "all" else "the cohort"
    places = {
        "server": "on the test set",
        "clients": f"on what {who} hold out",
        "both": f"on the test set and on what {who} hold out",
    }
    details = [
        f"{evaluation['held_out']:.0%} of each" if evaluation["on"] != "server" else "",
        often,
        f"{evaluation['validation']:.0%} of each validates" if evaluation["validation"] else "",
    ]
    return Fact("Evaluation", places[evaluation["on"]], " · ".join(filter(None, details)))


def rounds_fact(spec: Spec) -> Fact:
    stop = spec["stop"]
    target, patience = stop["target_accuracy"], stop["patience"]
    validates = spec["evaluation"]["validation"] > 0
    watched = "validation loss" if validates else "test loss: chosen on the test set"
    ends = [
        f"ends at {target:.0%} accuracy" if target else "",
        f"ends after {patience} evaluations without a better {watched}" if patience else "",
    ]
    return Fact("Rounds", f"{spec['rounds']:,}", " · ".join(filter(None, ends)))


def field_names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from field_names(field.annotation)


@cache
def field_positions() -> dict[str, int]:
    names = dict.fromkeys(["name", "description", "tags", "blocks", "app", "config", *field_names(RunSpec)])
    return {name: place for place, name in enumerate(names)}


def field_position(key: str) -> int:
    return field_positions().get(key, len(field_positions()))


def in_spec_order(value: Any) -> Any:
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: (field_position(item[0]), item[0]))
        return {key: in_spec_order(each) for key, each in ordered}
    return [in_spec_order(each) for each in value] if isinstance(value, list) else value


class SpecDumper(yaml.SafeDumper):
    """Text that YAML 1.1 or our own rules would read as something else, such as `on` and `1e3`, is quoted."""

    yaml_implicit_resolvers = {
        start: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(start, []),
            *SpecLoader.yaml_implicit_resolvers.get(start, []),
        ]
        for start in {*yaml.SafeDumper.yaml_implicit_resolvers, *SpecLoader.yaml_implicit_resolvers}
    }


def spec_yaml(value: Any) -> str:
    return yaml.dump(
        in_spec_order(value),
        Dumper=SpecDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )


MISSING = object()


@dataclass(frozen=True)
class SpecDiff:
    """`different` has path and both values, a dash for a field that one of them lacks; `same` counts the rest."""

    different: tuple[tuple[str, str, str], ...]
    same: int


def spec_diff(first: Mapping[str, Any], second: Mapping[str, Any]) -> SpecDiff:
    one, two = flatten(first), flatten(second)
    paths = list(dict.fromkeys([*one, *two]))
    different = [path for path in paths if one.get(path, MISSING) != two.get(path, MISSING)]
    return SpecDiff(
        tuple((path, diff_text(one.get(path, MISSING)), diff_text(two.get(path, MISSING))) for path in different),
        len(paths) - len(different),
    )


def diff_text(value: Any) -> str:
    return "–" if value is MISSING else value_text(value)
