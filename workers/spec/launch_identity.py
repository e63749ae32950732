"""The identity that a run was launched with, checked where it is computed; and otherwise what changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workers.catalog import load_catalog
from workers.errors import FederationError, TributaryError
from workers.spec.appspec import AnySpec
from workers.spec.identity import canonical_digest, identity_parts, run_sources, spec_components
from workers.spec.runspec import RunSpec

CHECKSUM_LETTERS = 12
NOT_THE_ONE = "is not the one this run was launched with"
RELAUNCH = "Relaunch to compute it with what is here now."
UNKNOWN_CHANGE = "Data, code or engine are not those this run was launched with, which nobody wrote down then."
OTHER_READING = "This version of Tributary reads the run's spec otherwise than the one that launched it."


@dataclass(frozen=True)
class LaunchIdentity:
    """A run's hash, and what it was to be computed from (`run_sources`); empty where that was not written down."""

    hash: str
    sources: Mapping[str, Any]


class IdentityError(TributaryError):
    """A run would be computed under an identity that is not its own.

    `code_differs`: not only the data do, so a process that reads all code anew may come to another answer.
    """

    def __init__(self, detail: str, *, code_differs: bool) -> None:
        super().__init__(detail)
        self.code_differs = code_differs


def launch_identity(spec: AnySpec) -> LaunchIdentity:
    """As of now, by what this process has loaded."""
    parts = identity_parts(spec)
    return LaunchIdentity(canonical_digest(parts), run_sources(parts))


def require_identity(spec: RunSpec, launched: LaunchIdentity) -> LaunchIdentity:
    """Today's identity, which is the one of the launch, or an `IdentityError` that says what changed."""
    today = launch_identity(spec)
    # Data that are not here at all have no checksum that could be compared.
    if what_to_do := load_catalog().datasets[spec.dataset.name].available(spec.dataset):
        raise FederationError(what_to_do)
    if today.hash != launched.hash:
        changes = list(source_changes(spec, launched.sources, today.sources)) if launched.sources else [UNKNOWN_CHANGE]
        data_only = len(changes) == 1 and launched.sources.get("data") not in (None, today.sources["data"])
        raise IdentityError(" ".join([*(changes or [OTHER_READING]), RELAUNCH]), code_differs=not data_only)
    return today


def source_changes(spec: RunSpec, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if before["data"] != now["data"]:
        old, new = before["data"][:CHECKSUM_LETTERS], now["data"][:CHECKSUM_LETTERS]
        yield f"The data set {data_name(spec)} {NOT_THE_ONE}: its checksum is {new}, not {old}."
    for component in spec_components(spec).values():
        kind, name = component.kind, component.name
        old, new = before["versions"].get(kind), now["versions"][kind]
        if old != new:
            yield f"The code of the {kind} {name} {NOT_THE_ONE}: it is {new}, not {old}."
    old, new = before["engine_version"], now["engine_version"]
    if old != new:
        yield f"The engine's version is {new}; this run was launched under {old}."


def data_name(spec: RunSpec) -> str:
    if file := getattr(spec.dataset, "file", None):
        return f"{file}.npz"
    return getattr(spec.dataset, "set", None) or spec.dataset.name
