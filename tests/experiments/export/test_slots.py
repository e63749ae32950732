"""How many exports are sent at once, and for how long somebody may read one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from config.processes import child_environment
from django.test import Client

from experiments.core.errors import BusyError
from experiments.export import writing
from experiments.export.slots import ExportSlots, export_slots
from experiments.export.writing import PartStream
from experiments.models import User


def test_one_person_takes_two_and_all_together_no_more_than_there_are(tmp_path: Path) -> None:
    slots = ExportSlots(3, tmp_path / "locks")
    slots.take(1)
    slots.take(1)
    with pytest.raises(BusyError, match="You have 2 exports under way"):
        slots.take(1)
    slots.take(2)
    with pytest.raises(BusyError, match="Too many exports are under way"):
        slots.take(3)
    slots.give_back(1)
    slots.take(3)
    assert [person for person, _ in slots.taken] == [1, 2, 3]
    for person in (1, 2, 3):
        slots.give_back(person)


def test_what_one_person_has_counts_in_every_web_process_until_it_ends(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from experiments.export.slots import ExportSlots;"
        "slots = ExportSlots(8, Path(sys.argv[1])); slots.take(1); slots.take(1); print('taken', flush=True);"
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    slots = ExportSlots(8, tmp_path)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_environment()) as other:
        assert other.stdout
        assert other.stdout.readline() == b"taken\n"
        with pytest.raises(BusyError, match="You have 2 exports under way"):
            slots.take(1)
        slots.take(2)
        other.kill()
    slots.take(1)
    assert [person for person, _ in slots.taken] == [2, 1]
    for person in (1, 2):
        slots.give_back(person)


def test_an_export_too_many_gets_429_with_the_time_to_wait(mine: Client, owner: User) -> None:
    for _ in range(2):
        export_slots().take(owner.pk)
    try:
        answer = mine.get("/api/v1/metrics")
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "10")
    finally:
        for _ in range(2):
            export_slots().give_back(owner.pk)


def test_what_cannot_be_exported_holds_no_slot(mine: Client, owner: User) -> None:
    for _ in range(3):
        assert mine.get("/api/v1/metrics?study=999999").status_code == 404
        assert mine.get("/api/v1/metrics?strat=fedavg").status_code == 422
    assert owner.pk not in [person for person, _ in export_slots().taken]


def test_a_stream_gives_its_slot_back_once_however_it_ends(db: None) -> None:
    ends: list[str] = []
    stream = PartStream((part for part in (b"a", b"b")), lambda: True, lambda: ends.append("end"))

    async def read() -> bytes:
        return b"".join([part async for part in stream])

    assert async_to_sync(read)() == b"ab"
    stream.close()
    left = PartStream((part for part in (b"a", b"b")), lambda: True, lambda: ends.append("left"))
    left.close()
    left.close()
    assert ends == ["end", "left"]


def test_a_stream_breaks_off_when_its_reader_is_shut_out(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ACCESS_SECONDS", 0.0)
    answers = iter([True, False])
    stream = PartStream((part for part in (b"a", b"b")), lambda: next(answers), lambda: None)

    async def read() -> None:
        assert await anext(stream) == b"a"
        await anext(stream)

    with pytest.raises(ConnectionAbortedError):
        async_to_sync(read)()
