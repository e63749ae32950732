"""The benchmark of large federations: its specs can be launched, and its table says what was measured."""

from __future__ import annotations

from benchmarks.clients import SPECS, small, table
from workers.spec import parse_run


def test_every_spec_can_be_launched_whole_and_small() -> None:
    for _, spec in SPECS.values():
        assert parse_run(spec).rounds > parse_run(small(spec)).rounds == 2
    assert [parse_run(spec).client_count for _, spec in SPECS.values()] == [10_000, 100_000, 1_000_000, 3_597]


def test_the_table_has_a_row_for_each_federation_and_a_dash_for_what_was_too_short() -> None:
    measured = {
        "prepare_seconds": 2.51,
        "rounds": 2,
        "round_seconds": 0.444,
        "processor_seconds": 0.787,
        "samples_a_round": 279_164.25,
        "peak_mb": 541.7,
    }
    assert table({"million": measured}).splitlines()[-1] == (
        "| 1,000,000 clients, 1,000 a round | 2 | 2.5 | 0.44 | 0.79 | 279,164 | – | 542 MB |"
    )
