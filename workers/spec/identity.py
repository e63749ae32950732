"""What makes two runs the same: all that can change a number, and nothing else.

Identities outlive versions of Tributary. What the first wave had is hashed as it always was; a field, a parameter or a
component that came later is left out while it has its default, and so is the engine's version while it is 1. Whoever
changes a default that is left out raises the component's `version`, or `ENGINE_VERSION`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from workers.apps.library import find_app
from workers.catalog import load_catalog
from workers.catalog.component import Component, Kind, Parameters
from workers.catalog.part import version_marks
from workers.catalog.plugins import require_unchanged
from workers.engine_version import APP_ENGINE_VERSION, ENGINE_VERSION
from workers.spec.appspec import AnySpec, AppSpec
from workers.spec.first_wave import FIRST_WAVE_FIELDS
from workers.spec.runspec import RunSpec

ANY_SEED = "any"
FIRST_ENGINE = 1


@dataclass(frozen=True)
class CellIdentity:
    """A cell's own hash, the text around the seed from which the hash of each run follows, and its `run_sources`."""

    cell: str
    before: str
    after: str
    sources: Mapping[str, Any]

    def run_hash(self, seed: int) -> str:
        return sha256_hex(f"{self.before}{seed}{self.after}")


def cell_identity(spec: AnySpec) -> CellIdentity:
    """What all seeds of a cell share, worked out once: a grid has many of them."""
    return cell_identity_of(identity_parts(spec))


def cell_identity_of(parts: dict[str, Any]) -> CellIdentity:
    parts["spec"]["seed"] = ANY_SEED
    before, after = canonical_json(parts).split(f'"seed":"{ANY_SEED}"')
    del parts["spec"]["seed"]
    return CellIdentity(canonical_digest(parts), f'{before}"seed":', after, run_sources(parts))


def canonical_hash(spec: AnySpec) -> str:
    """Hex SHA-256 over the resolved spec, the data set's checksum, and the versions of components and engine."""
    return canonical_digest(identity_parts(spec))


def cell_hash(spec: AnySpec) -> str:
    """The same for all runs that differ only in seed."""
    without_seed = identity_parts(spec)
    del without_seed["spec"]["seed"]
    return canonical_digest(without_seed)


def identity_parts(spec: AnySpec) -> dict[str, Any]:
    """Raises a `StalePluginError` where this process holds other code than the files have by now."""
    if isinstance(spec, AppSpec):
        return app_identity_parts(spec, find_app(spec.app.name).hash)
    components = spec_components(spec)
    for path, component in components.items():
        require_unchanged(component, path)
    parts: dict[str, Any] = {
        "spec": identity_fields(spec),
        "data": load_catalog().datasets[spec.dataset.name].checksum(spec.dataset),
        "versions": {component.kind: component.stamp_in(spec) for component in components.values()},
    }
    if ENGINE_VERSION > FIRST_ENGINE:
        parts["engine_version"] = ENGINE_VERSION
    if marks := version_marks(spec.parts.values()):
        parts["part_versions"] = marks
    return parts


def app_identity_parts(spec: AppSpec, digest: str) -> dict[str, Any]:
    """An app's data are its own business: its content's hash stands for its code, its defaults and what it loads."""
    fields = spec.model_dump(mode="json")
    if spec.engine == "auto":
        del fields["engine"]
    if not spec.app.metrics:
        del fields["app"]["metrics"]
    parts: dict[str, Any] = {"spec": fields, "data": "", "versions": {"app": digest}}
    if APP_ENGINE_VERSION > FIRST_ENGINE:
        parts["engine_version"] = APP_ENGINE_VERSION
    return parts


def spec_components(spec: RunSpec) -> dict[str, Component]:
    """By path in the spec."""
    catalog = load_catalog()
    choices: dict[str, tuple[Kind, Parameters]] = {
        "dataset": ("dataset", spec.dataset),
        "model": ("model", spec.model),
        "partition": ("partition", spec.partition),
        "strategy": ("strategy", spec.strategy),
        "local.optimizer": ("optimizer", spec.local.optimizer),
    }
    return {path: catalog.get(kind, params.name) for path, (kind, params) in choices.items()}


def run_sources(parts: Mapping[str, Any]) -> dict[str, Any]:
    """What a run is computed from besides its spec: kept at its launch, so that it can be said what changed."""
    return {
        "data": parts["data"],
        "versions": dict(parts["versions"]),
        "engine_version": parts.get("engine_version", FIRST_ENGINE),
    }


def identity_fields(spec: RunSpec) -> dict[str, Any]:
    plugins = {path for path, component in spec_components(spec).items() if component.origin}
    return hashed_fields(spec, spec.model_dump(mode="json"), "", plugins)


def hashed_fields(part: BaseModel, values: Mapping[str, Any], path: str, plugins: set[str]) -> dict[str, Any]:
    """Of a lab's own component all fields are in: its file, which has the defaults, is part of the identity anyway."""
    if path in plugins:
        return dict(values)
    always = first_wave_fields(part, path)
    fields: dict[str, Any] = {}
    for name, info in type(part).model_fields.items():
        value, place = getattr(part, name), f"{path}.{name}" if path else name
        if name in always or info.is_required() or value != info.get_default(call_default_factory=True):
            nested = isinstance(value, BaseModel)
            fields[name] = hashed_fields(value, values[name], place, plugins) if nested else values[name]
    return fields


def first_wave_fields(part: BaseModel, path: str) -> frozenset[str]:
    if isinstance(part, Parameters):
        return FIRST_WAVE_FIELDS.get(f"{path} {part.name}", frozenset()) | {"name"}
    return FIRST_WAVE_FIELDS.get(path, frozenset())


def canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def canonical_digest(value: Any) -> str:
    return sha256_hex(canonical_json(value))
