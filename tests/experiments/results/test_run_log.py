from __future__ import annotations

from experiments.models import User
from experiments.results.selectors.files import LogPart, run_log
from tests.experiments import lab
from workers.home import log_file


def logged(owner: User, content: bytes) -> int:
    run = lab.runs_in_order(lab.launched(owner))[0].pk
    log_file(run).parent.mkdir(parents=True, exist_ok=True)
    log_file(run).write_bytes(content)
    return run


def test_a_run_that_logged_nothing_here_says_so(owner: User) -> None:
    run = lab.runs_in_order(lab.launched(owner))[0].pk
    assert run_log(run=run) == LogPart("", 0, 0, here=False)


def test_a_long_log_is_shown_from_a_whole_line_on(owner: User) -> None:
    run = logged(owner, "".join(f"line {number:05d}\n" for number in range(3000)).encode())
    part = run_log(run=run, limit=16_384)
    lines = part.text.splitlines()
    assert (lines[0], lines[-1], len(lines), part.after, part.size) == (
        "line 01511",
        "line 02999",
        1489,
        33000,
        33000,
    )


def test_it_goes_on_where_the_last_part_ended(owner: User) -> None:
    run = logged(owner, b"one\ntwo\n")
    first = run_log(run=run, after=0, limit=4)
    assert (first.text, first.after, first.size) == ("one\n", 4, 8)
    assert run_log(run=run, after=first.after) == LogPart("two\n", 8, 8)
    assert run_log(run=run, after=8) == LogPart("", 8, 8)


def test_a_character_that_is_half_written_waits_for_its_rest(owner: User) -> None:
    run = logged(owner, "ä".encode()[:1])
    assert run_log(run=run, after=0) == LogPart("", 0, 1)
    log_file(run).write_bytes("äb".encode())
    assert run_log(run=run, after=0) == LogPart("äb", 3, 3)


def test_what_is_not_text_is_replaced(owner: User) -> None:
    assert run_log(run=logged(owner, b"a\xffb\n")).text == "a\N{REPLACEMENT CHARACTER}b\n"


def test_a_log_that_was_begun_anew_is_read_from_its_tail(owner: User) -> None:
    assert run_log(run=logged(owner, b"new\n"), after=5000) == LogPart("new\n", 4, 4)
