"""What this machine calls itself: its processor, and the versions of installed packages. Knows nothing of torch."""

from __future__ import annotations

import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def processor_name(source: Path = Path("/proc/cpuinfo")) -> str:
    """As Linux names it; elsewhere the architecture."""
    with suppress(OSError):
        for line in source.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


@cache
def package_versions(names: tuple[str, ...]) -> dict[str, str]:
    """Of those that are installed."""
    versions = {}
    for name in names:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
