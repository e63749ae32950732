"""`python -m workers.spec.reference`: docs/fields.md, every field of a run's spec, from the schema alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workers.catalog.component_docs import ParameterDoc, field_docs
from workers.home import ROOT
from workers.spec.runspec import RunSpec

PAGE = ROOT / "docs" / "fields.md"
COMPONENTS = {
    "dataset": "[data.md](data.md)",
    "model": "[models.md](models.md)",
    "strategy": "[strategies.md](strategies.md)",
    "partition": "the page **Catalog**",
    "local.optimizer": "the page **Catalog**",
}
"""Whose parameters are told elsewhere."""
HEAD = """# Fields of a study

Every field of a block, written by `python -m workers.spec.reference` from the schema that validates it. A field that is
left out has its default; a list is an axis; `seeds: 5` stands for `seed: [0, 1, 2, 3, 4]`. A line such as
`attack: sign-flip` explains a choice, and the lines below it its parameters.
How studies are written and launched: [studies.md](studies.md).

| field | default | allowed | meaning |
| --- | --- | --- | --- |
"""


def page_text() -> str:
    schema = RunSpec.model_json_schema()
    return HEAD + "".join(f"{row}\n" for row in map(row_text, spec_docs(schema, schema, "")))


def spec_docs(schema: dict[str, Any], root: dict[str, Any], prefix: str) -> Iterator[ParameterDoc]:
    for name, field in schema["properties"].items():
        path = f"{prefix}{name}"
        inner = root["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field
        if path in COMPONENTS:
            default = {"partition": "iid", "local.optimizer": "sgd"}.get(path, "")
            yield ParameterDoc(
                path, default, "{name: ...}", f"{path.rpartition('.')[2].capitalize()}: {COMPONENTS[path]}"
            )
        elif "properties" in inner:
            yield from spec_docs(inner, root, f"{path}.")
        else:
            yield from field_docs(path, field, root)


def row_text(doc: ParameterDoc) -> str:
    default = f"`{doc.default}`" if doc.default else ""
    return f"| `{doc.name}` | {default} | {doc.allowed} | {doc.meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page_text())
