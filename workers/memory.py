"""How much memory this process may have: the machine's, or its container's where that has less (cgroups 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

CGROUP_MEMBERSHIP = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")


def allowed_memory(membership: Path = CGROUP_MEMBERSHIP, groups: Path = CGROUPS) -> int:
    """In bytes. A group's limit counts for all groups inside it, so the least on the way to the root is ours."""
    return min([int(psutil.virtual_memory().total), *cgroup_limits(membership, groups)])


def cgroup_limits(membership: Path, groups: Path) -> Iterator[int]:
    for file in cgroup_limit_files(membership, groups):
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        if text.isdigit():  # "max" is none
            yield int(text)


def cgroup_limit_files(membership: Path, groups: Path) -> Iterator[Path]:
    """Inside a container a path may be the host's and lead nowhere here; the root is then the container's own."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            if controllers == "":
                yield groups / group / "memory.max"
            elif "memory" in controllers.split(","):
                yield groups / "memory" / group / "memory.limit_in_bytes"
