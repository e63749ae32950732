"""What follows from a class: name, label, parameters, form; and what is said of a class that cannot be taken."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Literal

import pytest

from tests.workers.catalog.plugins.examples import PAGE, write
from tests.workers.strategies.simple.own import OwnStrategies
from workers import plugin
from workers.catalog import describe_component
from workers.strategies.simple._server import Replies
from workers.strategies.simple._weights import Weights
from workers.strategies.simple.declaration import CLIENT_WORDS, HOOKS, SERVER_WORDS, kebab_case


def test_name_label_and_form_follow_from_the_class(own: OwnStrategies) -> None:
    described = describe_component(own.documented("fed-dyn"))

    assert (described["name"], described["label"]) == ("fed-dyn", "FedDyn")
    assert described["summary"] == "FedAvg with a dynamic regulariser (Acar et al., ICLR 2021)."
    assert described["schema"]["properties"]["alpha"] == {
        "default": 0.1,
        "description": "Weight of the regulariser",
        "exclusiveMinimum": 0,
        "title": "Alpha",
        "type": "number",
    }
    assert described["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("class_name", "name"),
    [("FedDyn", "fed-dyn"), ("FedSGDPlus", "fed-sgd-plus"), ("Mean2", "mean2"), ("_Own", "own")],
)
def test_names_from_classes(class_name: str, name: str) -> None:
    assert kebab_case(class_name) == name


def test_name_and_label_may_be_given_and_parameters_need_no_annotation(own: OwnStrategies) -> None:
    body = "name = 'own'\nlabel = 'Our own'\ncount = param(3)\nhow: Literal['a', 'b'] = param('a')\n"
    strategy = own.written("from typing import Literal\n" + body)

    assert strategy.label == "Our own"
    assert strategy.Params.model_fields["count"].annotation is int
    assert strategy.Params.model_fields["how"].annotation == Literal["a", "b"]
    assert strategy.count == 3
    assert strategy.configured(strategy.Params(count=5)).count == 5


def test_a_class_derived_from_another_has_its_parameters_too(own: OwnStrategies) -> None:
    text = """
from workers.plugin import SimpleStrategy, param

class Base(SimpleStrategy):
    mu: float = param(0.5)

class Child(Base):
    nu: float = param(2.0)
"""
    write(own.folder, "family.py", text)
    components, problems = own.read()

    assert (sorted(components), problems) == (["base", "child"], [])
    assert components["child"].Params().model_dump() == {"name": "child", "mu": 0.5, "nu": 2.0}


FAULTS = {
    "def aggregrate(self, server, replies): ...": (
        "TypeError: Own.aggregrate means nothing here: write aggregate, or _aggregrate for a helper"
    ),
    "client_states = {}": "TypeError: Own.client_states means nothing here: write client_state, or _client_states",
    "def gradient(self, client, grad): ...": (
        "TypeError: Own.gradient must be a method: def gradient(self, client, grad, w)"
    ),
    "client_state = ['g']": 'TypeError: Own.client_state must be a dict, such as {"h": "zeros"}',
    "client_state = {'g': 'ones'}": 'TypeError: Own.client_state: g begins as "zeros", "model" or a number',
    "client_state = {'start': 'zeros'}": "TypeError: Own.client_state: start means something already",
    "server_state = {'two words': 0}": "TypeError: Own.server_state: 'two words' is no name of an attribute",
    "broadcast = ('c',)": "TypeError: Own.broadcast: c must be in server_state",
    "broadcast = 'c'": "TypeError: Own.broadcast: c must be in server_state",
    "private = 'last'": "TypeError: Own.private must be last_layers(...), norm_layers() or a property",
    "private = last_layers(0)": "ValueError: last_layers takes a whole number from 1, not 0",
    "mu: float = param(-1.0, gt=0)": "Every parameter needs a valid default; look at mu.",
    "before: float = param(1.0)": (
        "TypeError: Own: a parameter cannot be called before, which means something already"
    ),
    "api_version = 2": "TypeError: Own was written for version 2 of workers.plugin, and this Tributary has 1",
}


@pytest.mark.parametrize(("body", "reason"), FAULTS.items(), ids=range(len(FAULTS)))
def test_a_class_that_cannot_be_taken_says_why(own: OwnStrategies, body: str, reason: str) -> None:
    assert own.fault(body).startswith(reason)


SURFACE = {
    "client": ["full_gradient", "loss", "lr", "normal", "round", "samples", "send", "server", "start", "steps"],
    "server": ["clients", "normal", "report", "round", "samples", "w"],
    "replies": ["losses", "mean", "samples", "steps", "w"],
    "weights": ["abs", "clamp", "dot", "items", "map", "mean", "norm", "sign", "sqrt", "sum"],
    "methods": ["after", "after_step", "aggregate", "before", "gradient"],
}
"""Version 1: names may come, and none may go."""


def public_names(view: type) -> set[str]:
    return {name for name in vars(view) if not name.startswith("_")}


def test_version_1_has_what_it_promised() -> None:
    assert plugin.API_VERSION == 1
    assert set(SURFACE["client"]) <= public_names(plugin.ClientView)
    assert sorted(CLIENT_WORDS) == SURFACE["client"]
    assert sorted(SERVER_WORDS) == SURFACE["server"]
    assert set(SURFACE["replies"]) <= public_names(Replies)
    assert set(SURFACE["weights"]) <= public_names(Weights)
    assert sorted(HOOKS) == SURFACE["methods"]
    assert list(inspect.signature(plugin.param).parameters) == ["default", "help", "gt", "ge", "lt", "le"]
    assert list(inspect.signature(plugin.last_layers).parameters) == ["count"]


def test_the_page_names_all_of_it() -> None:
    text = Path(PAGE).read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", "".join(re.findall(r"`[^`\n]+`", text))))

    assert {name for names in SURFACE.values() for name in names} - words == set()
