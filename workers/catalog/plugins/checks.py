"""What a lab's own component must be, and how a fault of one is told."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from workers.catalog.component import (
    Component,
    Dataset,
    DatasetFacts,
    DatasetParameters,
    Kind,
    Model,
    Optimizer,
    Parameters,
    Partition,
    Strategy,
)
from workers.catalog.discovery import make_component
from workers.catalog.plugins.guard import HeavyImportError

BASES: dict[Kind, type[Component]] = {
    "dataset": Dataset,
    "model": Model,
    "partition": Partition,
    "strategy": Strategy,
    "optimizer": Optimizer,
}
NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]*")
PROBED_SHAPE, PROBED_CLASSES = (1, 28, 28), 10


def make_checked_component(component_class: type[Component], expected: Kind | None) -> Component:
    """The component, with all that pages ask of every component asked once; raises whatever is wrong with it."""
    check_kind(component_class, expected)
    check_texts(component_class)
    check_parameters(component_class)
    component = make_component(component_class)
    check_defaults(component)
    if probe := PROBES.get(component.kind):
        probe(component)
    return component


def check_kind(component_class: type[Component], expected: Kind | None) -> None:
    kind = getattr(component_class, "kind", None)
    if kind not in BASES or not issubclass(component_class, BASES[kind]):
        bases = ", ".join(base.__name__ for base in BASES.values())
        raise PluginFaultError(f"{component_class.__name__} is of no kind: derive it from one of {bases}.")
    if expected not in (None, kind):
        raise PluginFaultError(
            f"{component_class.__name__} is a {kind}, but lies in a folder for each {expected}: move it."
        )


def check_texts(component_class: type[Component]) -> None:
    for field in ("name", "label"):
        value = getattr(component_class, field, None)
        if not isinstance(value, str) or not value.strip():
            raise PluginFaultError(f'{component_class.__name__} has no {field}: give it one, such as {field} = "...".')
    if not NAME_PATTERN.fullmatch(component_class.name):
        raise PluginFaultError(f"The name {component_class.name!r} may have small letters, digits, - and _ only.")
    if not isinstance(component_class.paper, str):
        raise PluginFaultError(f"The paper of {component_class.__name__} must be a text.")
    if type(component_class.version) is not int or component_class.version < 1:
        raise PluginFaultError(f"The version of {component_class.__name__} must be a whole number from 1.")


def check_parameters(component_class: type[Component]) -> None:
    base = DatasetParameters if issubclass(component_class, Dataset) else Parameters
    if not inspect.isclass(component_class.Params) or not issubclass(component_class.Params, base):
        raise PluginFaultError(f"Params of {component_class.__name__} must be a class derived from {base.__name__}.")


def check_defaults(component: Component) -> None:
    try:
        component.Params().model_dump(mode="json")
    except ValidationError as error:
        fields = ", ".join(sorted({str(each["loc"][0]) for each in error.errors()}))
        raise PluginFaultError(f"Every parameter needs a valid default; look at {fields}.") from None
    component.Params.model_json_schema()


def probe_dataset(component: Component) -> None:
    """Data-set pages and the form ask these of all data sets at once."""
    dataset = cast(Dataset, component)
    for params in dataset.editions():
        if not isinstance(dataset.facts(params), DatasetFacts):
            raise PluginFaultError(f"facts() of {dataset.name} must return DatasetFacts.")
        if not isinstance(dataset.checksum(params), str):
            raise PluginFaultError(f"checksum() of {dataset.name} must return a text.")
        dataset.available(params)


def probe_model(component: Component) -> None:
    """A count that is left to the engine is made when somebody asks for it, since that takes seconds."""
    from workers.models._counting import can_count, counts_itself

    model = cast(Model, component)
    params = model.Params()
    if not counts_itself(model):
        if not can_count():
            raise PluginFaultError(
                f"{model.name} has no parameter_count(), and there is no torch here to count with: write it."
            )
        model.refusal(PROBED_SHAPE, PROBED_CLASSES, params)
    elif model.refusal(PROBED_SHAPE, PROBED_CLASSES, params) is None:
        model.parameter_count(PROBED_SHAPE, PROBED_CLASSES, params)


PROBES: dict[Kind, Callable[[Component], Any]] = {"dataset": probe_dataset, "model": probe_model}


@dataclass(frozen=True, order=True)
class PluginProblem:
    """Why something is not in the catalog; `place` is its file, folder or entry point, `message` says what to do."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class PluginFaultError(Exception):
    """A component that cannot be taken as it is declared; the text says what to change."""


def describe_fault(error: BaseException) -> str:
    """One line: what was raised, and in which line of which file."""
    if isinstance(error, PluginFaultError):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"It is no valid Python: {error.msg}, line {error.lineno} of {Path(error.filename or '').name}."
    if isinstance(error, HeavyImportError):
        return describe_heavy_import(error)
    words = f"{type(error).__name__}: {error}".rstrip(": ").splitlines()[0].rstrip(".")
    return f"{words}{fault_location(error)}."


def describe_heavy_import(error: HeavyImportError) -> str:
    """At module level, or by a method that pages ask: then the method is at fault, not the import in build()."""
    methods = [frame.name for frame in plugin_frames(error)]
    if not methods or methods[0] == "<module>":
        return (
            f"It imports {error.name} at module level{fault_location(error)}, which the web server must not load: "
            "import it inside build(), or in a private file that build() imports."
        )
    asked, through = methods[0], "".join(f" through {method}()" for method in methods[1:2] if method != "<module>")
    return (
        f"Its {asked}() needs {error.name}{through}{fault_location(error)}, but the web server asks it too and must "
        f"not load {error.name}: let {asked}() work it out from its arguments alone."
    )


def fault_location(error: BaseException) -> str:
    """Of the last line of the plugin's own."""
    frames = plugin_frames(error)
    return f", line {frames[-1].lineno} of {Path(frames[-1].filename).name}" if frames else ""


def plugin_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Python's import machinery and this package lie around them."""
    return [frame for frame in traceback.extract_tb(error.__traceback__) if is_plugin_file(frame.filename)]


def is_plugin_file(filename: str) -> bool:
    ours = Path(__file__).resolve().parents[2]
    return not filename.startswith("<") and not Path(filename).is_relative_to(ours) and "/importlib/" not in filename
