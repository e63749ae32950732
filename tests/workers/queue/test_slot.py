"""The parent's side, against small runners of our own that do one odd thing each."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from workers.queue.slot import LimitError, Limits, RunnerDiedError, Slot

Events = list[dict[str, Any]]
MakeSlot = Callable[[str], Slot]

ECHO = """
import json, sys
print("a library says hello", file=sys.stderr)
for line in sys.stdin:
    print(json.dumps({"event": "heard", "message": json.loads(line)}), flush=True)
"""
SILENT = "import sys; sys.stdin.read()"
HANGS = "import time\nwhile True: time.sleep(1)"


@pytest.fixture
def make_slot(tmp_path: Path) -> Iterator[MakeSlot]:
    made: list[Slot] = []

    def make(program: str) -> Slot:
        path = tmp_path / f"runner{len(made)}.py"
        path.write_text(program)
        made.append(Slot(command=[sys.executable, str(path)]))
        return made[-1]

    yield make
    for slot in made:
        slot.kill()
        slot.close()


def events_of(slot: Slot) -> Events:
    while not (events := slot.poll(1.0)):
        pass
    return events


def test_a_job_reaches_the_runner_and_events_come_back(make_slot: MakeSlot) -> None:
    slot = make_slot(ECHO)
    slot.start({"run": 7})
    assert events_of(slot) == [{"event": "heard", "message": {"do": "run", "device": "cpu", "run": 7}}]
    slot.stop()
    assert events_of(slot) == [{"event": "heard", "message": {"do": "stop"}}]


def test_the_runner_stays_warm_between_jobs(make_slot: MakeSlot) -> None:
    slot = make_slot(ECHO)
    slot.start({"run": 1})
    events_of(slot)
    first = slot.pid
    slot.start({"run": 2})
    events_of(slot)
    assert slot.pid == first


def test_events_that_are_there_together_come_together(make_slot: MakeSlot) -> None:
    slot = make_slot('import sys\nprint(\'{"event": 1}\\n{"event": 2}\\n{"ev\', end="", flush=True)\nsys.stdin.read()')
    slot.start({})
    assert events_of(slot) == [{"event": 1}, {"event": 2}]


def test_what_libraries_print_is_the_log(make_slot: MakeSlot) -> None:
    lines: list[str] = []
    slot = make_slot(ECHO)
    slot.start({}, log=lines.append)
    events_of(slot)
    assert lines == ["a library says hello"]


def test_a_killed_runner_is_told_by_its_signal_and_replaced(make_slot: MakeSlot) -> None:
    slot = make_slot(ECHO)
    slot.start({})
    events_of(slot)
    assert slot.pid
    os.kill(slot.pid, signal.SIGKILL)
    with pytest.raises(RunnerDiedError, match=r"was killed by SIGKILL\.\na library says hello"):
        keep_polling(slot)
    slot.start({"run": 2})
    assert events_of(slot)[0]["message"]["run"] == 2


def test_a_runner_that_leaves_is_told_by_its_code_and_last_words(make_slot: MakeSlot) -> None:
    slot = make_slot("import sys; sys.exit('out of luck')")
    slot.start({})
    with pytest.raises(RunnerDiedError, match=r"ended with code 1\.\nout of luck"):
        keep_polling(slot)


def test_events_before_a_death_are_still_heard(make_slot: MakeSlot) -> None:
    slot = make_slot('print(\'{"event": "round"}\', flush=True)')
    slot.start({})
    assert slot.child
    slot.child.process.wait()
    assert events_of(slot) == [{"event": "round"}]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(silence=0.1), r"^The run gave no sign for 0.1 seconds and was ended \(TRIBUTARY_RUN_SILENCE\)\."),
        (Limits(seconds=0.1), "^The run took longer than the 0.1 seconds allowed and was ended"),
        (
            Limits(memory=1_000_000),
            r"^The run used more than the 1 MB allowed and was ended \(TRIBUTARY_RUN_MEMORY\)\.",
        ),
    ],
)
def test_a_runner_over_its_limit_is_ended(make_slot: MakeSlot, limits: Limits, reason: str) -> None:
    slot = make_slot(SILENT)
    slot.start({}, limits=limits)
    with pytest.raises(LimitError, match=reason):
        keep_polling(slot)
    assert slot.pid is None


def test_what_a_run_over_its_limit_said_last_is_told_and_not_what_the_one_before_it_said(make_slot: MakeSlot) -> None:
    slot = make_slot(ECHO + "    print(json.loads(line)['run'], 'begins', file=sys.stderr, flush=True)\n")
    slot.start({"run": 1})
    while "1 begins" not in slot.tail:
        slot.poll(1.0)
    slot.start({"run": 2}, limits=Limits(silence=1.5))
    with pytest.raises(LimitError, match=r"TRIBUTARY_RUN_SILENCE\)\.\n2 begins$"):
        keep_polling(slot)


def keep_polling(slot: Slot) -> None:
    while True:
        slot.poll(0.2)


def test_closing_ends_even_a_runner_that_does_not_listen(make_slot: MakeSlot) -> None:
    slot = make_slot(HANGS)
    slot.warm()
    pid = slot.pid
    assert pid
    slot.close()
    assert not psutil.pid_exists(pid)


PARENT = """
import sys, time
from workers.queue.slot import Slot
slot = Slot()
slot.warm()
print(slot.pid, flush=True)
time.sleep(60)
"""


def test_the_runner_dies_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    runner = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while psutil.pid_exists(runner) and psutil.Process(runner).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the runner outlived its parent"
        time.sleep(0.05)
