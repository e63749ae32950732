from __future__ import annotations

from django.http import QueryDict

from experiments.charts.smoothing import Drawing
from experiments.charts.styles import Placing
from experiments.compare.charts.values import Wanted
from experiments.compare.choices import Pick, choices_of


def test_an_empty_address_has_the_defaults() -> None:
    found = choices_of(QueryDict(""))
    assert found.pick.empty
    assert (found.tab, found.metric, found.x.name, found.band) == ("overview", "accuracy", "round", "std")
    assert (found.wanted, found.placing, found.drawing) == (Wanted(), Placing(), Drawing())


def test_every_choice_is_read_from_the_address() -> None:
    query = QueryDict(
        "study=3&study=1&tag=paper&run=7,8&only=strategy:fedprox · mu 0.1&tab=cost&metric=loss&x=bytes&band=boot"
        "&colour=clients&dash=strategy&row=partition&column=-&log=y&smooth=0.6&value=at&at=5, 10&last=3&target=90.5"
        "&across=clients&against=partition.alpha&second=clients&compared=clients&first=a&versus=b&shape=violin"
        "&left=4&right=5&client_run=9"
    )
    found = choices_of(query)
    assert found.pick == Pick((3, 1), ("paper",), (7, 8), (("strategy", "fedprox · mu 0.1"),))
    assert (found.tab, found.metric, found.x.name, found.band) == ("cost", "loss", "bytes", "boot")
    assert found.placing == Placing("clients", "strategy", "partition", "-")
    assert found.drawing == Drawing(log_y=True, smoothing=0.6)
    assert found.wanted == Wanted("at", 3, (5, 10), 90.5)
    assert (found.across, found.against, found.second) == (("clients",), "partition.alpha", "clients")
    assert (found.compared, found.pair, found.shape) == ("clients", ("a", "b"), "violin")
    assert (found.diff, found.run) == ((4, 5), 9)


def test_nonsense_counts_as_not_given() -> None:
    query = QueryDict(
        "study=x&study=-1&study=99999999999999&run=²&tab=?&x=?&band=?&value=?&at=x,-3&target=nan&smooth=1e999&left=x"
    )
    found = choices_of(query)
    assert found.pick.empty
    assert (found.tab, found.band, found.wanted, found.drawing.smoothing) == ("overview", "std", Wanted(), 0.0)
