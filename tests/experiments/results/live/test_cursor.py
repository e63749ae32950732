import pytest

from experiments.results.live.events import Cursor, Reader, parse_cursor


def metric(run: int, number: int, at: float) -> dict[str, object]:
    return {"event": "metric", "run": run, "round": number, "at": at}


def test_a_cursor_is_read_back_as_written() -> None:
    cursor = Cursor(1763258507.123, {12: 30, 13: 28})
    assert str(cursor) == "1763258507123:12.30,13.28"
    assert parse_cursor("1763258507123:12.30,13.28") == cursor
    assert parse_cursor("1763258507123:") == Cursor(1763258507.123)


@pytest.mark.parametrize("text", ["", "x", "12.30", "1:2", "1:2.3,", "1:2.3;DROP", "-1:2.3", "1" * 40 + ":"])
def test_what_is_no_cursor_makes_a_new_reader(text: str) -> None:
    assert parse_cursor(text) is None


def test_a_round_is_news_once() -> None:
    reader = Reader(Cursor(100.0, {1: 4}))
    told = [reader.is_news(metric(1, number, 101.0)) for number in (3, 4, 5, 5, 6)]
    assert told == [False, False, True, False, True]
    assert reader.is_news(metric(2, 0, 102.0))
    assert reader.is_news({"event": "state", "run": 1})


def test_the_cursor_names_only_runs_that_moved_lately() -> None:
    reader = Reader(Cursor(100.0))
    reader.is_news(metric(1, 7, 101.0))
    reader.is_news(metric(2, 3, 110.0))
    assert str(reader.cursor) == "110000:1.7,2.3"
    reader.is_news(metric(2, 4, 120.0))
    assert str(reader.cursor) == "120000:2.4"


def test_a_run_that_left_the_cursor_is_still_not_told_twice() -> None:
    reader = Reader(Cursor(100.0))
    reader.is_news(metric(1, 7, 101.0))
    reader.is_news(metric(2, 3, 150.0))
    assert str(reader.cursor) == "150000:2.3"
    assert not reader.is_news(metric(1, 7, 151.0))
