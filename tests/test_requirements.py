"""requirements.lock pins every package that the requirements bring along, in the versions that are tested here."""

import re
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"([a-z0-9-]+)==([0-9][0-9a-z.]*)( ; .+)?")
LEFT_TO_TORCH = re.compile(r"nvidia-|cuda-|triton$")


def lines(file):
    return [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith("#")]


LOCK = {match[1]: match[2] for match in map(PIN.fullmatch, lines("requirements.lock")) if match}
ROOTS = [Requirement(line) for file in ("requirements.txt", "tests/requirements.txt") for line in lines(file)]


def is_needed(requirement, extras):
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def closure():
    """Names of all that is installed because of the requirements."""
    waiting, names = list(ROOTS), set()
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        if (name, frozenset(each.extras)) not in names and not LEFT_TO_TORCH.match(name):
            names.add((name, frozenset(each.extras)))
            below = map(Requirement, requires(name) or ())
            waiting += [requirement for requirement in below if is_needed(requirement, each.extras)]
    return {name for name, _ in names}


def test_the_lock_has_every_pin_as_the_requirements_have_it():
    pins = {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in ROOTS}
    assert {name: LOCK.get(name) for name in pins} == pins


def test_the_lock_has_all_that_they_bring_along():
    assert sorted(closure() - LOCK.keys()) == []


def test_what_is_tested_here_is_what_is_locked():
    installed = {name: version(name).partition("+")[0] for name in closure()}
    assert installed == {name: LOCK[name] for name in installed}


def test_the_lock_fits_every_machine():
    """No index, no hash, no build of one machine: torch's are chosen where it is installed."""
    assert len(LOCK) == len(lines("requirements.lock"))
    assert not [name for name in LOCK if LEFT_TO_TORCH.match(name)]
