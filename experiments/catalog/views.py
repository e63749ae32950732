"""What can be launched, explained: the docs of every component, a lab's own included."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from workers.catalog import load_catalog
from workers.catalog.component import Component, Kind
from workers.catalog.component_docs import ParameterDoc, docstring_paragraphs, parameter_docs

KIND_TITLES: dict[Kind, str] = {
    "strategy": "Strategies",
    "partition": "Partitions",
    "model": "Models",
    "optimizer": "Optimizers",
    "dataset": "Data sets",
}


@dataclass(frozen=True)
class CatalogEntry:
    component: Component
    paragraphs: list[str]
    parameters: list[ParameterDoc]

    @property
    def anchor(self) -> str:
        return f"{self.component.kind}-{self.component.name}"


def catalog_page(request: HttpRequest) -> HttpResponse:
    components = load_catalog().components
    chapters = [
        (kind, title, [catalog_entry(each) for each in components[kind].values()])
        for kind, title in KIND_TITLES.items()
    ]
    return render(request, "pages/catalog.html", {"chapters": chapters})


def catalog_entry(component: Component) -> CatalogEntry:
    return CatalogEntry(component, docstring_paragraphs(component), parameter_docs(component))
