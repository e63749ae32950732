from __future__ import annotations

from workers.catalog import load_catalog
from workers.catalog.component_docs import ParameterText, explanation, parameters


def test_a_docstring_becomes_paragraphs_without_line_breaks() -> None:
    summary, formula = explanation(load_catalog().strategies["fedavg"])

    assert summary.startswith("Federated averaging: the new global model is the mean of the clients' models")
    assert "\n" not in formula


def test_parameters_say_what_may_be_written() -> None:
    told = {each.name: each for each in parameters(load_catalog().strategies["scaffold"])}

    assert told["server_lr"] == ParameterText(
        "server_lr", "1.0", "number, above 0", "Step of the server towards the mean of the clients' models."
    )
    assert (told["option"].default, told["option"].allowed) == ("2", "1, 2")
    assert (told["weighting"].default, told["weighting"].allowed) == ("samples", "samples, uniform")
    (every,) = parameters(load_catalog().strategies["fedavg"])
    assert (every.default, every.allowed) == ("1", "whole number, 1 or more")
    keep = next(each for each in parameters(load_catalog().strategies["multikrum"]) if each.name == "keep")
    assert (keep.default, keep.allowed) == ("null", "whole number, 1 or more; null")


def test_every_parameter_of_the_catalog_is_told_in_words() -> None:
    untold = [
        f"{component.name}.{each.name}"
        for component in load_catalog()
        for each in parameters(component)
        if not each.allowed or not each.meaning
    ]
    assert untold == []
