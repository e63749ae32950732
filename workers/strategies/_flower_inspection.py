"""Looks at strategy classes with Flower imported: what their constructors take, and whether they can be hosted.

python -m workers.strategies._flower_inspection              writes the table of Flower's own strategies anew
python -m workers.strategies._flower_inspection PATH         answers about one class of a lab's own, as JSON
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import types
import typing
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any

KINDS: dict[Any, str] = {float: "number", int: "integer", bool: "boolean", str: "text"}


def main(arguments: Sequence[str]) -> None:
    from workers.strategies._flower_classes import TABLE

    if not arguments:
        TABLE.write_text(table_text(), encoding="utf-8")
        return
    with redirect_stdout(sys.stderr):  # whatever a lab's own file prints
        answer = inspect_path(arguments[0])
    sys.stdout.write(f"{json.dumps(answer)}\n")


def inspect_path(path: str) -> dict[str, Any]:
    """`{"arguments": {...}}`, `{"error": why not}`, or `{"absent": true}` where Flower is not installed."""
    try:
        importlib.import_module("flwr.serverapp.strategy")
    except ImportError:
        return {"absent": True}
    from workers.catalog.plugins.checks import describe_fault
    from workers.strategies._flower_classes import UnusableClassError

    try:
        return {"arguments": constructor_arguments(load_class(path))}
    except UnusableClassError as error:
        return {"error": error.detail}
    except (Exception, SystemExit) as error:
        return {"error": f"{path} cannot be imported. {describe_fault(error)}"}


def load_class(path: str) -> type[Any]:
    """One of Flower's, or of a lab's own folders; raises whatever its module raises."""
    from workers.catalog.plugins.content import content_digest
    from workers.strategies._flower_classes import IN_APP, is_stock, loaded_digests, plugin_file, plugin_module

    module, _, name = path.rpartition(".")
    if is_stock(path):
        return typing.cast("type[Any]", getattr(importlib.import_module(module), name))
    if IN_APP in path:
        return load_app_class(path)
    digest = content_digest(plugin_file(path))
    candidate = getattr(importlib.import_module(plugin_module(path)), name, None)
    loaded_digests.setdefault(plugin_module(path), digest)
    return require_hostable(candidate, path)


def load_app_class(path: str) -> type[Any]:
    """Its modules are imported by their own names: another version of the app needs another process."""
    from workers.strategies._flower_classes import app_class, loaded_digests, loaded_name

    package, module, name = app_class(path)
    loaded_digests.setdefault(loaded_name(path), package.hash)
    if str(package.folder) not in sys.path:
        sys.path.insert(0, str(package.folder))
    return require_hostable(getattr(importlib.import_module(module), name, None), path)


def require_hostable(candidate: Any, path: str) -> type[Any]:
    from flwr.serverapp.strategy import Strategy

    from workers.strategies._flower_classes import UnusableClassError

    if not inspect.isclass(candidate):
        raise UnusableClassError(f"There is no class of the name {path}.")
    if not issubclass(candidate, Strategy):
        raise UnusableClassError(f"{path} is no strategy: derive it from flwr.serverapp.strategy.Strategy.")
    if inspect.isabstract(candidate):
        raise UnusableClassError(f"{path} lacks {', '.join(sorted(candidate.__abstractmethods__))}().")
    if candidate.start is not Strategy.start:
        raise UnusableClassError(f"{path} overrides start(), which is never called here: the rounds are the engine's.")
    return candidate


def constructor_arguments(strategy: type[Any]) -> dict[str, dict[str, Any]]:
    return {name: argument_facts(parameter, hint) for name, parameter, hint in parameters_of(strategy)}


def parameters_of(strategy: type[Any]) -> Iterator[tuple[str, inspect.Parameter, Any]]:
    """Those of the constructor; where it hands on `**others`, those of the one above it too."""
    seen = {"self"}
    for owner in strategy.__mro__:
        if "__init__" not in vars(owner) or owner is object:
            continue
        constructor = vars(owner)["__init__"]
        parameters = inspect.signature(constructor).parameters
        hints = resolved_hints(constructor)
        for name, parameter in parameters.items():
            if name not in seen and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                seen.add(name)
                yield name, parameter, hints.get(name, parameter.empty)
        if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
            return


def resolved_hints(constructor: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(constructor)
    except Exception:  # a name that only type checkers know
        return {}


def argument_facts(parameter: inspect.Parameter, hint: Any) -> dict[str, Any]:
    required = parameter.default is parameter.empty
    default = None if required else parameter.default
    if hint is parameter.empty and default is not None:
        hint = type(default)
    kind, nullable = kind_of(hint)
    facts = {"kind": kind, "nullable": nullable, "required": required}
    plain = kind not in ("object", "strategy") and isinstance(default, str | int | float | bool | list)
    return {name: value for name, value in facts.items() if value} | ({"default": default} if plain else {})


def kind_of(hint: Any) -> tuple[str, bool]:
    from flwr.serverapp.strategy import Strategy

    if hint in (inspect.Parameter.empty, Any):
        return "any", True
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = typing.get_args(hint)
        kinds = {kind_of(each)[0] for each in members if each is not type(None)}
        nullable = type(None) in members
        if kinds == {"number", "integer"}:
            return "number", nullable
        return (kinds.pop() if len(kinds) == 1 else "object" if "object" in kinds else "any"), nullable
    if hint in KINDS:
        return KINDS[hint], False
    origin = typing.get_origin(hint) or hint
    if inspect.isclass(origin) and issubclass(origin, Strategy):
        return "strategy", False
    if inspect.isclass(origin) and issubclass(origin, list | tuple | Sequence):
        return "list", False
    return "object", False


def table_text() -> str:
    """Flower's public, complete strategies with what their constructors take."""
    import flwr
    from flwr.serverapp import strategy as package

    public = [getattr(package, name) for name in sorted(package.__all__)]
    strategies = [each for each in public if issubclass(each, package.Strategy) and not inspect.isabstract(each)]
    rows = []
    for each in strategies:
        lines = [f"   {json.dumps(name)}: {json.dumps(facts)}" for name, facts in constructor_arguments(each).items()]
        rows.append(f"  {json.dumps(each.__name__)}: {{\n" + ",\n".join(lines) + "\n  }")
    return f'{{\n "version": {json.dumps(flwr.__version__)},\n "classes": {{\n' + ",\n".join(rows) + "\n }\n}\n"


if __name__ == "__main__":
    main(sys.argv[1:])
