from __future__ import annotations

from workers.catalog import load_catalog
from workers.catalog.component_docs import ParameterDoc, docstring_paragraphs, parameter_docs


def test_a_docstring_becomes_paragraphs_without_line_breaks() -> None:
    summary, formula = docstring_paragraphs(load_catalog().strategies["fedavg"])

    assert summary.startswith("Federated averaging: the new global model is the mean of the clients' models")
    assert "\n" not in formula


def test_parameters_say_what_may_be_written() -> None:
    docs = {each.name: each for each in parameter_docs(load_catalog().strategies["scaffold"])}

    assert docs["server_lr"] == ParameterDoc(
        "server_lr", "1.0", "number, above 0", "Step of the server towards the mean of the clients' models."
    )
    assert (docs["option"].default, docs["option"].allowed) == ("2", "1, 2")
    assert (docs["weighting"].default, docs["weighting"].allowed) == ("samples", "samples, uniform")
    (every,) = parameter_docs(load_catalog().strategies["fedavg"])
    assert (every.default, every.allowed) == ("1", "whole number, 1 or more")
    keep = next(each for each in parameter_docs(load_catalog().strategies["multikrum"]) if each.name == "keep")
    assert (keep.default, keep.allowed) == ("null", "whole number, 1 or more; null")


def test_every_parameter_of_the_catalog_is_told_in_words() -> None:
    undocumented = [
        f"{component.name}.{each.name}"
        for component in load_catalog()
        for each in parameter_docs(component)
        if not each.allowed or not each.meaning
    ]
    assert undocumented == []
