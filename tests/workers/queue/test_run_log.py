import logging
from pathlib import Path

import pytest

from workers.home import log_file
from workers.queue.run_log import RunLog


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))


def test_lines_of_one_attempt_follow_those_of_the_one_before() -> None:
    for attempt in (1, 2):
        with RunLog(7) as log:
            log.write(f"Attempt {attempt}")
    assert log_file(7).read_text() == "Attempt 1\nAttempt 2\n"


def test_a_full_disk_costs_lines_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    log_file(7).parent.mkdir(parents=True)
    log_file(7).symlink_to("/dev/full")
    with caplog.at_level(logging.WARNING), RunLog(7) as log:
        log.write("one")
        log.write("two")
    assert caplog.messages == ["The log of run 7 is not complete: [Errno 28] No space left on device"]


def test_a_log_that_cannot_be_opened_costs_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "runs").touch()
    with caplog.at_level(logging.WARNING), RunLog(7) as log:
        log.write("one")
    assert [each[:36] for each in caplog.messages] == ["The log of run 7 is not complete: [E"]
