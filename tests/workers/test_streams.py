"""Stateless randomness: a key gives the same draws wherever and whenever it is used."""

from __future__ import annotations

from workers.streams import MOST_PURPOSES, PURPOSES, stream


def test_a_stream_is_the_same_whenever_it_is_asked_for() -> None:
    first = stream(3, "batches", client=5, round=7).integers(0, 1000, 4).tolist()
    stream(3, "batches", client=5, round=8).random(100)
    assert stream(3, "batches", client=5, round=7).integers(0, 1000, 4).tolist() == first


def test_recorded_draws_do_not_change() -> None:
    assert stream(0, "partition").random(2).round(8).tolist() == [0.32544521, 0.63647562]


def test_each_part_of_the_key_gives_other_draws() -> None:
    keys = [
        stream(0, "batches", client=0, round=0),
        stream(1, "batches", client=0, round=0),
        stream(0, "dropout", client=0, round=0),
        stream(0, "batches", client=1, round=0),
        stream(0, "batches", client=0, round=1),
        stream(0, "batches"),
    ]
    assert len({generator.integers(2**63) for generator in keys}) == 6


def test_the_federations_own_streams_differ_from_round_to_round() -> None:
    assert len({stream(0, "sampling", round=number).integers(2**63) for number in range(100)}) == 100


def test_new_purposes_fit_without_touching_existing_streams() -> None:
    assert len(PURPOSES) <= MOST_PURPOSES == 64
    assert PURPOSES["partition"] == 0
    assert PURPOSES["data"] == 10
