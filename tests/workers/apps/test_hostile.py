"""Apps that hang, fork, fill memory, logs and disks, exit and raise: each ends with a reason, and nothing stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.apps.driver import AppProcess, hostile, processes_with, run_app
from workers.queue.slot import LimitError, Limits


def test_an_app_that_hangs_is_ended_after_its_silence(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match=r"gave no sign for 3 seconds and was ended \(TRIBUTARY_RUN_SILENCE\)"):
        run_app(hostile("hangs"), tmp_path, limits=Limits(silence=3))


def test_an_app_that_fills_memory_is_ended(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match=r"used more than the 400 MB allowed and was ended"):
        run_app(hostile("eats-memory"), tmp_path, limits=Limits(memory=400_000_000, silence=60))


def test_an_app_that_fills_the_disk_is_ended(tmp_path: Path) -> None:
    limits = Limits(folder=tmp_path, files=50_000_000, silence=60)
    with pytest.raises(LimitError, match=r"wrote more than the 50 MB allowed and was ended \(TRIBUTARY_RUN_FILES\)"):
        run_app(hostile("fills-disk"), tmp_path, limits=limits)


def test_nothing_that_an_app_forked_outlives_its_run(tmp_path: Path) -> None:
    attempt = AppProcess(hostile("forks"), tmp_path, limits=Limits(silence=60))
    mark = attempt.token
    attempt.wait_for_rounds(1)
    assert len(processes_with(mark)) > 1
    attempt.wait()
    assert processes_with(mark) == []


def test_an_app_that_exits_is_told_as_that(tmp_path: Path) -> None:
    result = run_app(hostile("exits"), tmp_path)
    assert result.end["event"] == "died"
    assert result.end["reason"].startswith("The run's process ended with code 3.")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises-on-import", "The app's serverapp cannot be imported: RuntimeError: This app cannot be imported."),
        ("missing-dependency", "The app's serverapp cannot be imported: No module named 'a_package_nobody_has_made'."),
    ],
)
def test_an_app_that_cannot_be_imported_says_why(name: str, reason: str, tmp_path: Path) -> None:
    result = run_app(hostile(name), tmp_path)
    assert result.end["event"] == "failed"
    assert result.end["reason"].startswith(reason)


def test_a_server_that_raises_fails_the_run_with_its_words(tmp_path: Path) -> None:
    result = run_app(hostile("raises-in-server"), tmp_path)
    assert result.end["event"] == "failed"
    assert "Traceback" in result.end["trace"]


def test_an_app_never_sees_the_platforms_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL"):
        monkeypatch.setenv(name, "a secret")
    result = run_app(hostile("reads-secrets"), tmp_path)
    assert result.end["event"] == "done"
    seen = {
        name: value
        for record in result.rounds.values()
        for name, value in record["metrics"].items()
        if name not in ("bytes_up", "bytes_down", "seconds")
    }
    assert seen
    assert {name: value for name, value in seen.items() if value and "loss" not in name} == {}


def test_an_app_that_prints_a_gigabyte_costs_neither_memory_nor_disk(tmp_path: Path) -> None:
    from workers.queue.run_log import FULL, MOST_BYTES, RunLog

    lines = 0
    attempt = AppProcess(hostile("prints-a-gigabyte"), tmp_path, limits=Limits(silence=120))

    class Counting(RunLog):
        """The log of a run, in this test's folder."""

    log = Counting(1)
    log.file = (tmp_path / "log.txt").open("w", encoding="utf-8")

    def write(text: str) -> None:
        nonlocal lines
        lines += 1
        log.write(text)

    attempt.slot.log = write
    result = attempt.wait()
    log.file.close()
    assert result.end["event"] == "done"
    assert lines > 1_000
    text = (tmp_path / "log.txt").read_text()
    assert len(text) <= MOST_BYTES + 200
    assert text.endswith(f"{FULL}\n")
