"""Memory of the machine and of containers, as files say it: group, its parents, limit."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from workers.memory import allowed_memory

MACHINE = psutil.virtual_memory().total
NO_LIMIT = "9223372036854771712"
SECOND = {"memory.max": "max", "lab/memory.max": "2000000", "lab/worker/memory.max": "3000000"}


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/lab/worker", SECOND, 2_000_000),
        ("0::/lab", {"lab/memory.max": "max", "memory.max": "max"}, MACHINE),
        ("0::/", {"memory.max": "1500000"}, 1_500_000),
        ("0::/../elsewhere", {"memory.max": "1500000"}, 1_500_000),
        ("4:memory:/docker/abc", {"memory/memory.limit_in_bytes": "1000000"}, 1_000_000),
        ("4:cpu,memory:/abc", {"memory/abc/memory.limit_in_bytes": "700000"}, 700_000),
        ("4:memory:/\n0::/", {"memory/memory.limit_in_bytes": NO_LIMIT}, MACHINE),
        ("3:cpu:/abc", {"memory/abc/memory.limit_in_bytes": "700000"}, MACHINE),
        ("", {}, MACHINE),
    ],
)
def test_the_least_of_all_limits_counts(membership: str, files: dict[str, str], expected: int, tmp_path: Path) -> None:
    own, groups = tmp_path / "cgroup", tmp_path / "groups"
    own.write_text(membership)
    for name, limit in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(f"{limit}\n")
    assert allowed_memory(own, groups) == expected


def test_a_machine_without_groups_has_its_own_memory(tmp_path: Path) -> None:
    assert allowed_memory(tmp_path / "none", tmp_path) == MACHINE
