from __future__ import annotations

from django.http import QueryDict

from experiments.charts.smoothing import LineOptions
from experiments.charts.styles import StyleAxes
from experiments.compare.charts.values import ValueChoice
from experiments.compare.choices import SelectionQuery, choices_of


def test_an_empty_address_has_the_defaults() -> None:
    choices = choices_of(QueryDict(""))
    assert choices.selection_query.empty
    assert (choices.tab, choices.metric, choices.x.name, choices.band) == ("overview", "accuracy", "round", "std")
    assert (choices.value, choices.style_axes, choices.line_options) == (ValueChoice(), StyleAxes(), LineOptions())


def test_every_choice_is_read_from_the_address() -> None:
    query = QueryDict(
        "study=3&study=1&tag=paper&run=7,8&only=strategy:fedprox · mu 0.1&tab=cost&metric=loss&x=bytes&band=boot"
        "&colour=clients&dash=strategy&row=partition&column=-&log=y&own=x&smooth=0.6&value=at&at=5, 10&last=3"
        "&target=90.5&across=clients&against=partition.alpha&second=clients&compared=clients&first=a&versus=b&shape=violin"
        "&left=4&right=5&client_run=9"
    )
    choices = choices_of(query)
    assert choices.selection_query == SelectionQuery((3, 1), ("paper",), (7, 8), (("strategy", "fedprox · mu 0.1"),))
    assert (choices.tab, choices.metric, choices.x.name, choices.band) == ("cost", "loss", "bytes", "boot")
    assert choices.style_axes == StyleAxes("clients", "strategy", "partition", "-")
    assert choices.line_options == LineOptions(log_y=True, smoothing=0.6, own_x=True)
    assert choices.value == ValueChoice("at", 3, (5, 10), 90.5)
    assert (choices.across, choices.against, choices.second) == (("clients",), "partition.alpha", "clients")
    assert (choices.compared, choices.pair, choices.shape) == ("clients", ("a", "b"), "violin")
    assert (choices.diff, choices.run) == ((4, 5), 9)


def test_nonsense_counts_as_not_given() -> None:
    query = QueryDict(
        "study=x&study=-1&study=99999999999999&run=²&tab=?&x=?&band=?&value=?&at=x,-3&target=nan&smooth=1e999&left=x"
    )
    choices = choices_of(query)
    assert choices.selection_query.empty
    assert (choices.tab, choices.band, choices.value, choices.line_options.smoothing) == (
        "overview",
        "std",
        ValueChoice(),
        0.0,
    )
