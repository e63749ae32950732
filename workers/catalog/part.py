"""Parts: one choice among several inside a spec, each a class with its parameters, its words and what it builds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from workers.catalog.component import Parameters
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec


class Part(Parameters):
    """Parameters that say themselves what they are for: `name` is a literal, the docstring explains.

    Unlike a component a part is no singleton of the catalog: it is a value of a spec, so that it can look at itself.
    """

    label: ClassVar[str]
    paper: ClassVar[str] = ""
    version: ClassVar[int] = 1
    """Raised when the same parameters give other numbers; part of a run's identity once it is above 1."""

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        """What makes it impossible in that spec, where it stands at `path`."""
        return ()

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """With label and paper: whoever has the schema can draw a form."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        return {**schema, "title": cls.label, "paper": cls.paper}


def choice_of(parts: Iterable[type[Part]]) -> Any:
    """A union of these, told apart by `name`."""
    return Annotated[reduce(or_, parts), Field(discriminator="name")]


def version_marks(parts: Iterable[Part]) -> list[str]:
    """Of those whose numbers have changed since they came."""
    return [f"{part.name}-{part.version}" for part in parts if part.version > 1]


@dataclass(frozen=True)
class PartOption:
    """A part as a JSON schema tells it."""

    name: str
    label: str
    summary: str
    paper: str
    properties: Mapping[str, Any]
    """The schemas of its parameters."""


def part_options(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[PartOption]:
    """What a field's schema lets one choose among; none where it is no choice of parts."""
    inner: Mapping[str, Any] = next((each for each in schema.get("anyOf", [schema]) if "discriminator" in each), {})
    definitions = [root["$defs"][each["$ref"].rpartition("/")[2]] for each in inner.get("oneOf", ())]
    return [part_option(each) for each in definitions]


def part_option(definition: Mapping[str, Any]) -> PartOption:
    properties = dict(definition["properties"])
    name = properties.pop("name")["const"]
    summary = definition["description"].split("\n\n")[0].replace("\n", " ")
    return PartOption(name, definition["title"], summary, definition["paper"], properties)
