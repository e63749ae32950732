from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from workers.store import store as module
from workers.store.store import (
    Bundle,
    DamagedCopyError,
    NotStoredError,
    Store,
    StoreAwayError,
    StoredFacts,
    StoreError,
    parse_bundle,
    remote_store,
)

Machine = Callable[[str], Path]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(module, "REST_SECONDS", 0.0)


def write(folder: Path, **files: str) -> dict[str, Path]:
    for name, text in files.items():
        (folder / name).write_text(text)
    return {name: folder / name for name in files}


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_it_is_the_home_unless_a_setting_says_otherwise(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_STORE", "")
    assert remote_store() is None
    monkeypatch.setenv("TRIBUTARY_STORE", str(machine("first")))
    assert remote_store() is None
    monkeypatch.setenv("TRIBUTARY_STORE", "memory://lab")
    assert remote_store() is not None


def test_what_was_published_is_fetched_with_its_checksums(store: Store, tmp_path: Path) -> None:
    files = write(tmp_path, model="weights", notes="")
    bundle = store.publish("runs/7/artifacts/token", {"model": files["model"], "files/notes": files["notes"]})
    assert bundle.files == {
        "model": StoredFacts(7, sha256(b"weights").hexdigest()),
        "files/notes": StoredFacts(0, sha256(b"").hexdigest()),
    }
    store.fetch("runs/7/artifacts/token", tmp_path / "here")
    assert contents(tmp_path / "here") == {"model": "weights", "files/notes": ""}
    assert store.folders("runs/7") == ["artifacts"]
    assert list(store.sizes("runs/7/artifacts")) == ["token.json"]


def test_nothing_counts_before_its_list_is_written(store: Store, tmp_path: Path) -> None:
    files = write(tmp_path, arrays="half of it")
    with pytest.raises(NotStoredError):
        store.publish("runs/7/checkpoints/one", {**files, "state": tmp_path / "never written"})
    assert not store.has_bundle("runs/7/checkpoints/one")
    with pytest.raises(NotStoredError, match=r"runs/7/checkpoints/one\.json is not in the store"):
        store.fetch("runs/7/checkpoints/one", tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_a_file_that_was_changed_since_is_refused_and_nothing_of_it_is_left(store: Store, tmp_path: Path) -> None:
    store.publish("runs/7/artifacts/token", write(tmp_path, model="weights"))
    (tmp_path / "store/runs/7/artifacts/token/model").write_text("weighty")
    with pytest.raises(DamagedCopyError, match="is not what was written: 7 bytes with the SHA-256"):
        store.fetch("runs/7/artifacts/token", tmp_path / "here")
    assert not (tmp_path / "here").exists()
    assert [path.name for path in tmp_path.glob(".here*")] == []


def test_a_list_that_is_cut_off_or_leads_elsewhere_is_refused() -> None:
    whole = Bundle({"model": StoredFacts(7, "ab")}).as_text().encode()
    assert parse_bundle("a", whole).files["model"].bytes == 7
    for content in (whole[:-9], b"", b"[]", whole.replace(b"model", b"other")):
        with pytest.raises(DamagedCopyError):
            parse_bundle("a", content)
    for name in ("../model", "/etc/passwd", "a/../../b"):
        with pytest.raises(DamagedCopyError, match="leads elsewhere"):
            parse_bundle("a", Bundle({name: StoredFacts(7, "ab")}).as_text().encode())


def test_parts_become_one_file(store: Store, tmp_path: Path) -> None:
    parts = write(tmp_path, one="one,", two="two")
    store.publish("runs/7/checkpoints/t.journal", {"0": parts["one"], "1": parts["two"]}, joined=True)
    store.fetch("runs/7/checkpoints/t.journal", tmp_path / "t.journal")
    assert (tmp_path / "t.journal").read_text() == "one,two"


def test_a_folder_that_is_not_mounted_is_away_and_has_not_lost_its_files(store: Store, tmp_path: Path) -> None:
    store.publish("runs/7/artifacts/token", write(tmp_path, model="weights"))
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    (tmp_path / "store").mkdir()
    with pytest.raises(StoreAwayError, match=r"Is it mounted"):
        store.fetch("runs/7/artifacts/token", tmp_path / "here")
    with pytest.raises(StoreAwayError, match=r"is it mounted\?"):
        store.publish("runs/7/artifacts/other", {"model": tmp_path / "model"})
    assert list((tmp_path / "store").iterdir()) == []


def test_a_passing_fault_is_tried_again_and_a_lasting_one_told(store: Store) -> None:
    answers: list[Exception | str] = [OSError("reset"), TimeoutError(), "here"]

    def request() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert store.answer("a", request) == "here"
    assert (store.away, store.errors) == (None, 0)
    answers[:] = [OSError("cable cut")] * 3
    with pytest.raises(StoreAwayError, match=r"does not answer \(OSError: cable cut\)"):
        store.answer("a", request)
    assert (store.away is not None, store.errors) == (True, 1)


def test_who_was_told_that_it_is_away_does_not_wait_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REST_SECONDS", 60.0)
    tries = []

    def request() -> None:
        tries.append(1)
        raise OSError("cable cut")

    for _ in range(2):
        with pytest.raises(StoreAwayError, match="cable cut"):
            store.answer("a", request)
    assert len(tries) == 3


def test_removing_takes_the_list_too_and_nothing_else(store: Store, tmp_path: Path) -> None:
    files = write(tmp_path, model="weights")
    for key in ("runs/7/checkpoints/a", "runs/7/checkpoints/b", "runs/71/checkpoints/a"):
        store.publish(key, files)
    store.remove("runs/7/checkpoints/a")
    store.remove("runs/7/checkpoints/never")
    assert store.entries("runs/7/checkpoints") == {"b": None, "b.json": store.sizes("runs/7/checkpoints")["b.json"]}
    store.remove("runs/7")
    assert store.folders("runs") == ["71"]


def test_a_store_is_marked_once(store: Store, tmp_path: Path) -> None:
    before = (tmp_path / "store" / "tributary-store.json").stat().st_mtime_ns
    store.create()
    store.check()
    assert (tmp_path / "store" / "tributary-store.json").stat().st_mtime_ns == before
    assert json.loads((tmp_path / "store" / "tributary-store.json").read_text()) == {
        "product": "tributary-store",
        "format": 1,
    }


def test_an_address_that_nothing_here_speaks_says_so() -> None:
    with pytest.raises(StoreError, match=r"^TRIBUTARY_STORE \(nowhere://lab\) cannot be used: "):
        Store("nowhere://me:secret@lab").check()
