"""What can be launched, explained: the docs of every component, a lab's own included."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from workers.catalog import load_catalog
from workers.catalog.component import Component, Kind
from workers.catalog.component_docs import ParameterText, explanation, parameters

TITLES: dict[Kind, str] = {
    "strategy": "Strategies",
    "partition": "Partitions",
    "model": "Models",
    "optimizer": "Optimizers",
    "dataset": "Data sets",
}


@dataclass(frozen=True)
class Entry:
    component: Component
    paragraphs: list[str]
    parameters: list[ParameterText]

    @property
    def anchor(self) -> str:
        return f"{self.component.kind}-{self.component.name}"


def catalog_page(request: HttpRequest) -> HttpResponse:
    found = load_catalog().components
    chapters = [(kind, title, [entry_of(each) for each in found[kind].values()]) for kind, title in TITLES.items()]
    return render(request, "pages/catalog.html", {"chapters": chapters})


def entry_of(component: Component) -> Entry:
    return Entry(component, explanation(component), parameters(component))
