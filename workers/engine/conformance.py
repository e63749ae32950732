"""`python -m workers.engine.conformance FILE`: whether the components of a file keep what the platform relies on.

A line for each check; exit code 1 if one fails. Needs neither database nor platform: `manage.py plugin check` runs it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from workers.catalog.component import Component, Dataset, Model, Partition
    from workers.engine.records import Result, RoundRecord

TOLERANCE = 1e-8
"""Between the engines, in double precision, relative to values of 1 and more."""
CRASH_ROUND = 4
SHAPES = ((4,), (1, 8, 8), (1, 28, 28), (3, 32, 32))
CLASSES = 3
ClientSizes = tuple[int, int]
FEDERATIONS: tuple[ClientSizes, ...] = ((600, 5), (600, 20), (601, 7))
"""Samples and clients that a partition is tried with."""


@dataclass(frozen=True)
class CheckResult:
    """`fault` is empty where the check holds; `remark` says what else was seen."""

    component: str
    check: str
    fault: str = ""
    remark: str = ""

    def __str__(self) -> str:
        note = self.fault or self.remark
        return f"{'FAILS' if self.fault else 'ok   '} {self.component}: {self.check}{f': {note}' if note else ''}"


class ConformanceFault(Exception):  # noqa: N818 (a fault of the component, told in a line)
    """What a check saw that must not be."""


Check = Callable[[], str | None]
"""Returns a remark; raises whatever is wrong."""


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        sys.stderr.write("Which file? python -m workers.engine.conformance FILE\n")
        return 2
    file = plugin_file(Path(arguments[0]))
    if refusal := file_refusal(file):
        sys.stderr.write(f"{refusal}\n")
        return 2
    read_plugins_from(plugin_folder(file))
    failures = 0
    for result in check_file(file):
        sys.stdout.write(f"{result}\n")
        sys.stdout.flush()
        failures += bool(result.fault)
    return 1 if failures else 0


def plugin_file(path: Path) -> Path:
    path = path.expanduser().resolve()
    return path / "__init__.py" if path.is_dir() else path


def file_refusal(file: Path) -> str | None:
    if not file.is_file():
        return f"There is no file {file}."
    name = file.parent.name if file.name == "__init__.py" else file.name
    if name.startswith("_") or file.suffix != ".py":
        return f"{name} is a helper and declares no component: name the file that imports it."
    return None


def plugin_folder(file: Path) -> Path:
    """The one that TRIBUTARY_PLUGINS would name."""
    from workers.catalog.plugins.sources import SUBFOLDERS

    folder = file.parent.parent if file.name == "__init__.py" else file.parent
    return folder.parent if folder.name in SUBFOLDERS else folder


def read_plugins_from(folder: Path) -> None:
    """Before the others: what is checked may be the next version of one of them."""
    from workers.catalog.plugins.sources import FOLDERS_VARIABLE

    others = os.environ.get(FOLDERS_VARIABLE, "")
    os.environ[FOLDERS_VARIABLE] = os.pathsep.join([str(folder), *([others] if others else [])])


def check_file(file: Path) -> Iterator[CheckResult]:
    from workers.catalog import load_catalog

    catalog = load_catalog()
    problems = [problem for problem in catalog.load_problems if problem.place == str(file)]
    components = [component for component in catalog if component.origin == str(file)]
    for problem in problems:
        yield CheckResult(file.name, "the declaration is valid", problem.message)
    if not problems and not components:
        yield CheckResult(file.name, "the declaration is valid", "nothing of it is in the catalog")
    for component in components:
        name = f"{component.kind} {component.name}"
        yield CheckResult(name, "the declaration is valid")
        for check, function in checks_of(component).items():
            yield run_check(name, check, function)


def run_check(component: str, check: str, function: Check) -> CheckResult:
    from workers.catalog.plugins.checks import describe_fault
    from workers.errors import TributaryError

    try:
        return CheckResult(component, check, remark=function() or "")
    except (ConformanceFault, TributaryError) as error:
        return CheckResult(component, check, "; ".join(str(error).splitlines()))
    except Exception as error:
        return CheckResult(component, check, describe_fault(error))


def checks_of(component: Component) -> dict[str, Check]:
    spec = tiny_spec(component)
    own: dict[str, Check] = {}
    if component.kind == "partition":
        own["every sample goes to one client, and no client is empty"] = lambda: check_split(component)  # type: ignore[arg-type]
    if component.kind == "model":
        own["parameter_count() counts what build() makes"] = lambda: check_parameter_count(component)  # type: ignore[arg-type]
    if component.kind == "dataset":
        own["facts() tells what load() gives"] = lambda: check_facts(component)  # type: ignore[arg-type]
    own["the engines cohort and sequential agree"] = lambda: check_engines(spec)
    own["the same run again is equal to the bit"] = lambda: check_repetition(spec)
    own["a run that resumes ends equal to the bit, its state is complete"] = lambda: check_resume(spec)
    if component.kind == "strategy":
        own["the model that is left is the one that was evaluated"] = lambda: check_final_model(spec)
    return own


def tiny_spec(component: Component) -> dict[str, Any]:
    """A federation of five clients that runs in milliseconds, with this component in its place."""
    spec: dict[str, Any] = {
        "dataset": {"name": "blobs", "shape": list(shape_for(component)), "classes": CLASSES, "train": 90, "test": 30},
        "model": {"name": "logistic"},
        "partition": {"name": "iid"},
        "strategy": {"name": "fedavg"},
        "clients": 5,
        "cohort": 3,
        "rounds": 6,
        "local": {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0.05}},
        "evaluation": {"validation": 0.2},
        "precision": "float64",
        "engine": "sequential",
    }
    if component.kind == "optimizer":
        spec["local"]["optimizer"] = {"name": component.name}
    else:
        spec[component.kind] = {"name": component.name, **({"samples": 300} if component.kind == "dataset" else {})}
    return spec


def shape_for(component: Component) -> tuple[int, ...]:
    if component.kind != "model":
        return SHAPES[0]
    model: Any = component
    return next((shape for shape in SHAPES if model.fits(shape, CLASSES)), SHAPES[0])


def check_split(partition: Partition) -> str | None:
    """On unequal classes, with ten natural clients to look at; twice, since a split follows from its stream alone."""
    for samples, clients in FEDERATIONS:
        first, again = (split_of(partition, samples, clients) for _ in range(2))
        if any(not np.array_equal(one, other) for one, other in zip(first, again, strict=True)):
            raise ConformanceFault(f"the same seed gives other clients ({samples} samples, {clients} clients)")
    return None


def split_of(partition: Partition, samples: int, clients: int) -> Sequence[np.ndarray]:
    from workers.catalog.component import PartitionInput
    from workers.partitions._cuts import split_faults
    from workers.streams import stream

    labels = np.minimum(np.arange(samples) % 10, np.arange(samples) % 7)
    natural = np.arange(samples) % max(clients, 10)
    data = PartitionInput(labels, 10, clients, natural, stream(0, "partition"))
    parts = partition.split(data, partition.Params())
    if faults := split_faults(parts, data, leaves_out=partition.leaves_samples_out):
        raise ConformanceFault(f"{', '.join(faults)} ({samples} samples, {clients} clients)")
    return parts


def check_parameter_count(model: Model) -> str | None:
    from torch.nn.modules.batchnorm import _BatchNorm

    params = model.Params()
    shape = shape_for(model)
    if not model.fits(shape, CLASSES):
        return f"not tried: it takes none of the shapes {', '.join(map(str, SHAPES))}"
    module = model.build(shape, CLASSES, params)
    counted, built = model.parameter_count(shape, CLASSES, params), sum(each.numel() for each in module.parameters())
    if counted != built:
        raise ConformanceFault(f"{counted} in place of {built}, for samples of shape {shape} in {CLASSES} classes")
    has_statistics = any(isinstance(each, _BatchNorm) for each in module.modules())
    if has_statistics != model.batch_statistics(params):
        raise ConformanceFault(f"batch_statistics() must be {has_statistics}: look for BatchNorm in build()")
    return None


def check_facts(dataset: Dataset) -> str | None:
    params = dataset.Params()
    if remedy := dataset.available(params):
        return f"not tried: {remedy}"
    facts, arrays = dataset.facts(params), dataset.load(params)
    labels = np.concatenate([arrays.train_y, arrays.test_y])
    seen = {
        "shape": tuple(arrays.train_x.shape[1:]),
        "train": len(arrays.train_y),
        "test": len(arrays.test_y),
        "natural_clients": None if arrays.client is None else len(np.unique(arrays.client)),
    }
    differences = [f"{name} is {value}, not {getattr(facts, name)}" for name, value in seen.items()]
    faults = [
        each for each, (name, value) in zip(differences, seen.items(), strict=True) if value != getattr(facts, name)
    ]
    if labels.min() < 0 or labels.max() >= facts.classes:
        faults.append(f"labels go from {labels.min()} to {labels.max()}, but there are {facts.classes} classes")
    if len(arrays.train_x) != len(arrays.train_y) or len(arrays.test_x) != len(arrays.test_y):
        faults.append("samples and labels differ in number")
    if faults:
        raise ConformanceFault("; ".join(faults))
    return None


def run(spec: Mapping[str, Any], **options: Any) -> Result:
    from workers.engine.simulation import simulate

    return simulate(spec, device="cpu", **options)


def check_engines(spec: Mapping[str, Any]) -> str | None:
    from workers.errors import SpecError

    single = run({**spec, "engine": "sequential"})
    try:
        stacked = run({**spec, "engine": "cohort"})
    except SpecError as error:
        if [problem.path for problem in error.errors] == ["engine"]:
            return "runs one client at a time: its model cannot be stacked"
        raise
    if list(single.parameters) != list(stacked.parameters):
        raise ConformanceFault("their models have other names")
    distance = max(relative_distance(single.parameters[name], stacked.parameters[name]) for name in single.parameters)
    if not distance < TOLERANCE:
        raise ConformanceFault(
            f"their models differ by {distance:.1e} after {spec['rounds']} rounds, more than rounding"
        )
    return None


def relative_distance(one: np.ndarray, other: np.ndarray) -> float:
    scale = np.maximum(1.0, np.abs(one.astype(np.float64)))
    return float(np.max(np.abs(one.astype(np.float64) - other) / scale, initial=0.0))


def check_repetition(spec: Mapping[str, Any]) -> str | None:
    for engine in ("sequential", "auto"):
        require_equal(run({**spec, "engine": engine}), run({**spec, "engine": engine}))
    return None


def check_resume(spec: Mapping[str, Any]) -> str | None:
    """A run breaks off after a checkpoint and goes on with everything built anew."""
    from workers.engine.checkpoint import CheckpointPolicy, load_newest_checkpoint, policy_of
    from workers.spec import canonical_hash, parse_run

    def break_off(record: RoundRecord) -> None:
        if record.round == CRASH_ROUND:
            raise BrokenOff

    whole = run(spec)
    with tempfile.TemporaryDirectory() as folder:
        with suppress(BrokenOff):
            run(spec, checkpoint=CheckpointPolicy(Path(folder), every=1), on_round=break_off)
        policy = policy_of(folder)
        state = load_newest_checkpoint(policy, canonical_hash(parse_run(spec))) if policy else None
        require_equal(whole, run(spec, checkpoint=folder))
    saved = [
        f"{owner}.{name}" for owner, names in (state.facts["attributes"] if state else {}).items() for name in names
    ]
    return f"attributes saved beside `state`: {', '.join(saved)}" if saved else None


class BrokenOff(BaseException):
    """As a killed process: nothing may catch it."""


def require_equal(one: Result, other: Result) -> None:
    for first, second in zip(one.history, other.history, strict=True):
        mine, others = deterministic_metrics(first), deterministic_metrics(second)
        if mine != others:
            name = next(name for name in {**mine, **others} if mine.get(name) != others.get(name))
            raise ConformanceFault(
                f"{name} of round {first.round} is {others.get(name)} in place of {mine.get(name)}: every draw comes "
                "from workers.plugin.stream, and what is remembered from round to round from `state` or attributes"
            )
    for name, array in one.parameters.items():
        if np.asarray(array).tobytes() != np.asarray(other.parameters[name]).tobytes():
            raise ConformanceFault(f"{name} of the final model differs")


def deterministic_metrics(record: RoundRecord) -> dict[str, str]:
    """As text, so that NaN equals NaN."""
    return {name: repr(value) for name, value in record.metrics.items() if not name.startswith("seconds")}


def check_final_model(spec: Mapping[str, Any]) -> str | None:
    import torch

    from workers.engine.setup import make_setup
    from workers.spec import parse_run

    result = run(spec)
    setup = make_setup(parse_run(spec), torch.device("cpu"))
    if setup.method.outputs is not None or set(result.parameters) != set(setup.initial):
        return (
            f"not tried: it leaves several models ({', '.join(sorted({owner_of(each) for each in result.parameters}))})"
        )
    model = {name: torch.from_numpy(np.array(array)) for name, array in result.parameters.items()}
    loss, reported = setup.evaluator.evaluate(model, ()).metrics["loss"], result.history[-1].metrics["loss"]
    if not abs(loss - reported) <= TOLERANCE * max(1.0, abs(reported)):
        raise ConformanceFault(
            f"its loss is {loss:.6g}, the last round reports {reported:.6g}: final_model() returns what was evaluated"
        )
    return None


def owner_of(parameter: str) -> str:
    return parameter.partition("/")[0]


if __name__ == "__main__":
    sys.exit(main())
