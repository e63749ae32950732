"""The home, the disk it lies on, the installed packages, and the lab's own components."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connections

from experiments.catalog.selectors import HoldersByProblem, component_problems
from experiments.operations.doctor.findings import Finding, error, good, size_text, warning
from workers.catalog import load_catalog
from workers.errors import TributaryError

LITTLE_BYTES, TOO_FEW_BYTES = 10e9, 1e9
PIN = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?==(\S+)")
COMPUTE = {"torch", "torchvision", "flwr", "ray", "scikit-learn", "scipy", "safetensors", "h5py", "pillow"}
"""Absent where only pages are served."""


def check_home() -> Iterator[Finding]:
    try:
        settings.HOME.make()
        yield good(f"{settings.HOME.path} can be written.")
    except TributaryError as refused:
        yield error(f"{settings.HOME.path} cannot be written.", str(refused))


def check_disk() -> Iterator[Finding]:
    place = next(each for each in (settings.HOME.path, *settings.HOME.path.parents) if each.exists())
    free = shutil.disk_usage(place).free
    seen = f"{size_text(free)} are free for {settings.HOME.path}."
    if free < TOO_FEW_BYTES:
        yield error(seen, "Rounds and checkpoints may be lost: free some space, or delete runs that nobody needs.")
    elif free < LITTLE_BYTES:
        yield warning(seen, "Free some space before a large study.")
    else:
        yield good(seen)


def check_versions() -> Iterator[Finding]:
    pinned = read_pins(settings.ROOT / "requirements.txt")
    installed = {name: installed_version(name) for name in pinned}
    absent = sorted(name for name, have in installed.items() if have is None and name not in COMPUTE)
    differing = sorted(
        name for name, have in installed.items() if have is not None and not is_same_version(have, pinned[name])
    )
    mend = "Install what requirements.txt asks for: `make up` does, unless the environment is not its own."
    if absent:
        yield error(f"Not installed: {', '.join(absent)}.", mend)
    for name in differing:
        yield warning(f"{name} {installed[name]} is installed, {pinned[name]} was tested.", mend)
    if not absent and not differing:
        yield good("Installed packages are those that were tested.")


def read_pins(file: Path) -> dict[str, str]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {match[1]: match[2] for match in map(PIN.match, lines) if match}


def installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def is_same_version(installed: str, pinned: str) -> bool:
    """torch calls its builds 2.13.0+cpu and the like."""
    return installed.partition("+")[0] == pinned


MEND = "See docs/plugins.md; a file is read anew when web server and workers start again."


def check_own_components() -> Iterator[Finding]:
    catalog = load_catalog()
    catalog.check_plugin_datasets()
    yield good(f"{sum(1 for _ in catalog)} components, {len(catalog.plugin_stamps)} of them the lab's own.")
    for problem, holders in known_component_problems().items():
        yield error(f"{problem} ({', '.join(holders)})", MEND)


def known_component_problems() -> HoldersByProblem:
    """Without the database, what is wrong on this machine."""
    try:
        return component_problems()
    except (Error, ImproperlyConfigured):
        connections.close_all()
        return component_problems([])
