from __future__ import annotations

from experiments.charts.styles import LineStyle, line_styles


def spec(strategy: str, partition: str = "iid", ratio: float = 0.0, **parameters: float) -> dict[str, object]:
    return {"strategy": {"name": strategy, **parameters}, "partition": {"name": partition}, "hybrid": {"ratio": ratio}}


def test_a_strategy_has_the_same_hue_whoever_is_beside_it() -> None:
    alone = line_styles({"a": spec("fedprox", mu=0.01)})
    beside = line_styles({"a": spec("scaffold"), "b": spec("fedprox", mu=0.01)})
    assert alone == {"a": LineStyle("FedProx", 1, "solid")}
    assert beside == {"a": LineStyle("SCAFFOLD", 2, "solid"), "b": LineStyle("FedProx (μ = 0.01)", 1, "solid")}


def test_two_values_of_one_strategy_do_not_share_a_hue() -> None:
    styles = line_styles({"a": spec("fedprox", mu=0.01), "b": spec("fedprox", mu=0.1), "c": spec("fedavg")})
    assert [style.hue for style in styles.values()] == [1, 2, 0]


def test_everything_else_that_varies_is_told_by_the_dash() -> None:
    styles = line_styles(
        {
            "a": spec("fedavg"),
            "b": spec("fedprox", mu=0.01),
            "c": spec("fedavg", "shards"),
            "d": spec("fedprox", "shards", mu=0.01),
        }
    )
    assert styles == {
        "a": LineStyle("FedAvg · IID", 0, "solid"),
        "b": LineStyle("FedProx (μ = 0.01) · IID", 1, "solid"),
        "c": LineStyle("FedAvg · Shards", 0, "dash"),
        "d": LineStyle("FedProx (μ = 0.01) · Shards", 1, "dash"),
    }


def test_without_strategies_to_compare_the_first_axis_has_the_colours() -> None:
    styles = line_styles({str(ratio): spec("fedavg", ratio=ratio) for ratio in (0.0, 0.5, 1.0)})
    assert [(style.label, style.hue) for style in styles.values()] == [
        ("hybrid 0 %", 0),
        ("hybrid 50 %", 1),
        ("hybrid 100 %", 2),
    ]


def test_beyond_eight_values_the_hues_start_again_with_another_dash() -> None:
    styles = list(line_styles({str(place): spec("fedavg", ratio=place / 16) for place in range(10)}).values())
    assert [style.hue for style in styles] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]
    assert [style.dash for style in styles[6:]] == ["solid", "solid", "dash", "dash"]
