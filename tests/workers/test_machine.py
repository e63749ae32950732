from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from workers.machine import package_versions, processor_name


def test_the_processors_name_is_read_from_the_system(tmp_path: Path) -> None:
    source = tmp_path / "cpuinfo"
    source.write_text("processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nmodel name\t: Some CPU @ 2.0GHz\n")
    assert processor_name(source) == "Some CPU @ 2.0GHz"


def test_a_system_without_that_file_still_has_a_name(tmp_path: Path) -> None:
    assert processor_name(tmp_path / "absent") != ""


def test_packages_that_are_not_installed_are_left_out() -> None:
    assert package_versions(("numpy", "no-such-package")) == {"numpy": version("numpy")}
