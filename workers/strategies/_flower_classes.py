"""Which Flower strategies a spec may name and what their constructors take, known without importing Flower.

Flower's own are in `_flower_classes.json`, written by `python -m workers.strategies._flower_inspection`. A lab's own
lie in the folders of TRIBUTARY_PLUGINS (`strategies._mine.MyStrategy`), or in one of its Flower apps
(`my-app:my_app.strategy.MyStrategy`): each is read in a process of its own, once for each content of its file, unless
this process computes runs and so has Flower anyway.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from workers.apps.library import find_app
from workers.apps.package import AppError, AppPackage
from workers.catalog.plugins import StalePluginError
from workers.catalog.plugins.content import content_digest, module_files
from workers.catalog.plugins.sources import FOLDERS_VARIABLE, folder_package, plugin_folders
from workers.child_environment import environment_without_secrets
from workers.errors import Problem, TributaryError
from workers.home import ROOT

TABLE = Path(__file__).with_name("_flower_classes.json")
PUBLIC_PACKAGE = "flwr.serverapp.strategy"
DOTTED_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
IN_APP = ":"
PATIENCE_SECONDS = 60
XGBOOST_ONLY = (
    "aggregates XGBoost's trees, as bytes, and clients here train networks made of arrays: take another strategy."
)
REFUSED = {"FedXgbBagging": XGBOOST_ONLY, "FedXgbCyclic": XGBOOST_ONLY}


class UnusableClassError(TributaryError):
    """A class that a spec may not name, or that cannot be hosted; the text says why and what to do."""


@dataclass(frozen=True)
class Argument:
    """`kind`: number, integer, boolean, text, list, strategy, any; or object, which no spec can hold."""

    kind: str
    nullable: bool = False
    required: bool = False
    default: Any = None


@dataclass(frozen=True)
class ClassFacts:
    """`digest` stands for the content of a lab's own file; it is empty for Flower's."""

    name: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    digest: str = ""
    complete: bool = True
    """False where nobody could look at the class, because Flower is not installed here: the run will."""


@cache
def flower_table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def flower_version() -> str:
    return str(flower_table()["version"])


def stock_classes() -> list[str]:
    """By the path under which a spec names them, without those that cannot run here."""
    return [f"{PUBLIC_PACKAGE}.{name}" for name in flower_table()["classes"] if name not in REFUSED]


def is_stock(path: str) -> bool:
    return path.startswith("flwr.")


def class_facts(path: str) -> ClassFacts:
    """Raises an `UnusableClassError`; a `StalePluginError` where this process holds an older content of the file."""
    if is_stock(path):
        return stock_facts(path)
    digest = plugin_digest(path)
    result = inspected_facts(path, digest)
    if isinstance(result, UnusableClassError):
        raise result
    return result


@cache
def stock_facts(path: str) -> ClassFacts:
    package, _, name = path.rpartition(".")
    table = flower_table()["classes"]
    if package != PUBLIC_PACKAGE or name not in table:
        known = ", ".join(each for each in table if each not in REFUSED)
        raise UnusableClassError(
            f"Flower {flower_version()} has no strategy {path}. Write {PUBLIC_PACKAGE}. and one of {known}."
        )
    if name in REFUSED:
        raise UnusableClassError(f"{name} {REFUSED[name]}")
    return ClassFacts(name, read_arguments(table[name]))


def read_arguments(table: Mapping[str, Any]) -> dict[str, Argument]:
    return {name: Argument(**facts) for name, facts in table.items()}


loaded_digests: dict[str, str] = {}
"""By module of a lab's own that this process has imported for a class in it: the digest of what it read."""


def plugin_digest(path: str) -> str:
    """Of the file or the app as it is now, which is what this process has read if it has read any."""
    digest = app_class(path)[0].hash if IN_APP in path else content_digest(plugin_file(path))
    if loaded_digests.get(loaded_name(path), digest) != digest:
        message = f"Restart Tributary: the file of {path}, or one that it needs, changed after it was read."
        raise StalePluginError([Problem("strategy.class", message)], message)
    return digest


def loaded_name(path: str) -> str:
    """Under which `loaded_digests` has it: an app is one whole, however many of its modules are read."""
    return path.partition(IN_APP)[0] + IN_APP if IN_APP in path else plugin_module(path)


def app_class(path: str) -> tuple[AppPackage, str, str]:
    """The app, and module and class in it. Only apps that an admin added or named are ever imported for a spec."""
    app, _, place = path.partition(IN_APP)
    if not DOTTED_PATH.fullmatch(place):
        raise UnusableClassError(f"{path} names no class: write the app, a colon, module and class.")
    try:
        package = find_app(app)
    except AppError as error:
        raise UnusableClassError(str(error)) from None
    module, _, name = place.rpartition(".")
    return package, module, name


def plugin_file(path: str) -> Path:
    return find_plugin(path)[1]


def plugin_module(path: str) -> str:
    """The name under which its file is imported."""
    folder, _ = find_plugin(path)
    return f"{folder_package(folder)}.{path.rpartition('.')[0]}"


def find_plugin(path: str) -> tuple[Path, Path]:
    """Folder and file. Nothing outside of these folders is ever imported for a spec."""
    if DOTTED_PATH.fullmatch(path):
        parts = path.split(".")[:-1]
        for folder in plugin_folders():
            for file in module_files(folder.joinpath(*parts)):
                return folder, file
    raise UnusableClassError(
        f"There is no strategy class {path}. Write {PUBLIC_PACKAGE}. and the name of one of Flower's, or file and "
        f"class of your own below a folder of {FOLDERS_VARIABLE}, such as strategies._mine.MyStrategy, or an app, "
        "module and class, such as my-app:my_app.strategy.MyStrategy."
    )


@cache
def inspected_facts(path: str, digest: str) -> ClassFacts | UnusableClassError:
    """The error itself rather than raised: it is as true the next time as an answer."""
    if "flwr" in sys.modules:
        from workers.strategies._flower_inspection import inspect_path

        answer = inspect_path(path)
    else:
        answer = ask_inspection(path)
    if reason := answer.get("error"):
        return UnusableClassError(str(reason))
    name = path.rpartition(".")[2]
    if answer.get("absent"):
        return ClassFacts(name, digest=digest, complete=False)
    return ClassFacts(name, read_arguments(answer["arguments"]), digest)


def ask_inspection(path: str) -> dict[str, Any]:
    """In a process of its own, which has no secrets and is ended if it takes too long."""
    try:
        process = subprocess.run(
            [sys.executable, "-m", "workers.strategies._flower_inspection", path],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            cwd=ROOT,
            env=environment_without_secrets(),
            check=True,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"Importing {path} took longer than {PATIENCE_SECONDS} s."}
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or [f"it ended with {error.returncode}"])[-1]
        return {"error": f"Importing {path} ended the process that tried: {last}"}
    answer: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return answer
