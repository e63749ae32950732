"""What an attempt writes comes into the store beside it, and what it goes on from comes from there."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from threading import Event
from uuid import UUID

import pytest

from tests.live import eventually
from workers.engine.checkpoint import CheckpointPolicy, CheckpointState, load_checkpoint, save_checkpoint
from workers.home import attempt_folder, checkpoint_folder, checkpoint_key, home
from workers.queue.attempt_files import HomeFiles, Saved, StoredFiles, attempt_files
from workers.queue.uploads import Upload, Uploads
from workers.store.store import Store, StoreAwayError, StoreError, remote_store

TOKEN, OTHER = UUID(int=1), UUID(int=2)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TRIBUTARY_STORE", str(tmp_path / "store"))
    store = remote_store()
    assert store is not None
    store.create()
    return store


@pytest.fixture
def files(store: Store) -> StoredFiles:
    return StoredFiles(store, 7, TOKEN, 1)


def save(folder: Path, number: int, token: UUID = TOKEN) -> Path:
    history = [[each, {"accuracy": each / 100}, [0]] for each in range(number + 1)]
    state = CheckpointState("run-a", number, "cohort", {}, {}, history=history)
    return save_checkpoint(CheckpointPolicy(folder, token=token.hex), state)


def save_and_add(files: StoredFiles, number: int) -> Saved:
    files.add_checkpoint(number, save(files.checkpoints, number))
    assert files.wait(20)
    saved = files.take_saved()
    assert saved is not None
    return saved


def test_by_default_nothing_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    monkeypatch.setenv("TRIBUTARY_STORE", "")
    files = attempt_files(7, TOKEN, 1)
    assert isinstance(files, HomeFiles)
    assert files.checkpoints == tmp_path / "runs" / "7" / "checkpoints"
    path = save(files.checkpoints, 10)
    files.add_checkpoint(10, path)
    assert files.take_saved() == Saved(10, f"runs/7/checkpoints/round-00000010.{TOKEN.hex}-kept")
    assert files.take_saved() is None


def test_what_a_row_names_outlives_the_checkpoints_of_a_run_that_is_faster_than_its_rows(store: Store) -> None:
    folder, files = checkpoint_folder(7), HomeFiles(7, TOKEN)
    for number in (10, 20, 30, 40, 50):
        path = save(folder, number)
        if number != 20:
            files.add_checkpoint(number, path)
    # Four more while the database was away; then only the last of the first five is written down.
    saved = files.take_saved()
    assert saved == Saved(50, f"runs/7/checkpoints/round-00000050.{TOKEN.hex}-kept")
    files.record(saved)
    for number in (60, 70, 80, 90):
        save(folder, number)
    resumable = files.resumable((saved.key,)).paths
    assert [path.name[:14] for path in resumable] == ["round-00000050", "round-00000040"]
    assert [load_checkpoint(path, "run-a").round for path in resumable] == [50, 40]
    names = sorted(path.name.replace(TOKEN.hex, "") for path in folder.iterdir())
    assert names == ["round-00000040.-kept", "round-00000050.-kept", "round-00000080.", "round-00000090."]


def test_a_checkpoint_that_is_gone_by_now_is_none_and_the_one_before_still_counts(store: Store) -> None:
    folder, files = checkpoint_folder(7), HomeFiles(7, TOKEN)
    files.add_checkpoint(10, save(folder, 10))
    files.add_checkpoint(20, folder / f"round-00000020.{TOKEN.hex}")
    assert files.take_saved() == Saved(10, f"runs/7/checkpoints/round-00000010.{TOKEN.hex}-kept")


def test_behind_each_checkpoint_comes_what_the_same_attempt_saved_before(store: Store) -> None:
    folder, files = checkpoint_folder(7), HomeFiles(7, OTHER)
    for number, token in ((10, TOKEN), (20, TOKEN), (15, OTHER)):
        save(folder, number, token)
    name = f"round-000000{{}}.{TOKEN.hex}"
    # Rows of earlier versions hold whole paths, of a home that may have moved since.
    for stored in (f"runs/7/checkpoints/{name.format(20)}", f"/old/home/runs/7/checkpoints/{name.format(20)}"):
        assert files.resumable((stored,)).paths == [folder / name.format(20), folder / name.format(10)]


@pytest.mark.parametrize(
    "stored",
    ["", "round-1", "runs/8/checkpoints/a", "runs/7/checkpoints/../a", "runs/7/checkpoints/", "xruns/7/checkpoints/a"],
)
def test_a_path_of_something_else_is_no_checkpoint_of_the_run(stored: str) -> None:
    assert checkpoint_key(7, stored) is None


def test_another_machine_goes_on_from_what_was_uploaded(
    files: StoredFiles, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = save_and_add(files, 10)
    assert saved == Saved(10, f"runs/7/checkpoints/round-00000010.{TOKEN.hex}")
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "other"))
    there = StoredFiles(store, 7, OTHER, 2).resumable((saved.key,))
    assert there.refusals == []
    (path,) = there.paths
    assert path == attempt_folder(7, OTHER) / "resume" / f"round-00000010.{TOKEN.hex}"
    assert load_checkpoint(path, "run-a").round == 10


def test_the_engine_may_remove_a_checkpoint_that_is_on_its_way(files: StoredFiles, store: Store) -> None:
    path = save(files.checkpoints, 10)
    busy = Event()
    files.uploads.add(Upload("first", lambda: busy.wait(20) and None))
    files.add_checkpoint(10, path)
    shutil.rmtree(path)
    busy.set()
    assert files.wait(20)
    assert files.take_saved() == Saved(10, f"runs/7/checkpoints/{path.name}")
    assert load_checkpoint(files.resumable((f"runs/7/checkpoints/{path.name}",)).paths[0], "run-a").round == 10
    assert list((files.folder / "uploads").iterdir()) == []


def test_of_several_that_wait_only_the_newest_is_uploaded(files: StoredFiles, store: Store) -> None:
    busy = Event()
    files.uploads.add(Upload("first", lambda: busy.wait(20) and None))
    for number in (10, 20, 30):
        files.add_checkpoint(number, save(files.checkpoints, number))
    busy.set()
    assert files.wait(20)
    assert files.take_saved() == Saved(30, f"runs/7/checkpoints/round-00000030.{TOKEN.hex}")
    assert store.folders("runs/7/checkpoints") == [f"round-00000030.{TOKEN.hex}"]


def test_two_are_kept_and_the_one_before_is_taken_where_the_newest_is_damaged(
    files: StoredFiles, store: Store, tmp_path: Path
) -> None:
    for number in (10, 20, 30):
        files.record(save_and_add(files, number))
        assert files.wait(20)
    names = [f"round-000000{number}.{TOKEN.hex}" for number in (20, 30)]
    assert store.folders("runs/7/checkpoints") == names
    (tmp_path / "store/runs/7/checkpoints" / names[1] / "history.jsonl").write_text("{}")
    found = StoredFiles(store, 7, OTHER, 2).resumable((f"runs/7/checkpoints/{names[1]}",))
    assert [path.name for path in found.paths] == [names[0]]
    (refusal,) = found.refusals
    assert refusal.startswith(f"runs/7/checkpoints/{names[1]}/history.jsonl in the store {store.label} is not what was")


def test_a_store_that_is_away_is_not_one_without_checkpoints(files: StoredFiles, tmp_path: Path) -> None:
    saved = save_and_add(files, 10)
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    with pytest.raises(StoreAwayError):
        files.resumable((saved.key,))


def test_of_a_journal_only_what_came_since_is_sent(files: StoredFiles, store: Store, tmp_path: Path) -> None:
    journal = files.checkpoints / f"{TOKEN.hex}.journal"
    journal.parent.mkdir(parents=True)
    for number, text in enumerate(("one,", "two,", "three")):
        with journal.open("a") as file:
            file.write(text)
        files.add_checkpoint(number, journal)
        assert files.wait(20)
    key = f"runs/7/checkpoints/{journal.name}"
    assert files.take_saved() == Saved(2, key)
    assert store.sizes(key) == {"part-000000": 4, "part-000001": 4, "part-000002": 5}
    (path,) = StoredFiles(store, 7, OTHER, 2).resumable((key,)).paths
    assert path.read_text() == "one,two,three"


def test_its_folder_goes_once_all_is_there(files: StoredFiles, store: Store) -> None:
    save_and_add(files, 10)
    (files.artifacts / "files").mkdir(parents=True)
    (files.artifacts / "model.safetensors").write_bytes(b"weights")
    (files.artifacts / ".model.safetensors").write_bytes(b"half")
    (files.artifacts / "files" / "notes.txt").write_text("hello")
    files.log.write_text("Attempt 1\n")
    files.drop_checkpoints()
    files.add_artifacts()
    assert files.wait(20)
    assert files.has_artifacts
    assert files.artifact_key(str(files.artifacts / "model.safetensors")) == (
        f"runs/7/artifacts/{TOKEN.hex}/model.safetensors"
    )
    files.close(done=True)
    eventually(lambda: not (home() / "runs" / "7").exists(), 20)
    assert list(store.bundle(f"runs/7/artifacts/{TOKEN.hex}").files) == ["files/notes.txt", "model.safetensors"]
    assert store.folders("runs/7") == ["artifacts"]
    assert store.read(f"logs/7/0001.{TOKEN.hex}.txt") == b"Attempt 1\n"


def test_what_a_store_that_is_away_was_to_have_is_tried_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.queue.uploads.FIRST_PAUSE", 0.01)
    uploads, answers = Uploads("Run 7"), [StoreAwayError("It is away."), StoreAwayError("It is away."), None]

    def carry_out() -> None:
        answer = answers.pop(0)
        if answer:
            raise answer

    uploads.add(Upload("model", carry_out))
    assert uploads.wait(20)
    assert (answers, uploads.problem) == ([], "")


def test_what_will_never_be_is_given_up_with_its_reason() -> None:
    uploads, tries = Uploads("Run 7"), []

    def carry_out() -> None:
        tries.append(1)
        raise StoreError("It is no store.")

    uploads.add(Upload("model", carry_out))
    assert uploads.wait(20)
    assert (len(tries), uploads.problem) == (1, "It is no store.")


def test_a_newer_one_takes_the_place_of_one_that_is_tried_in_vain() -> None:
    uploads, done, tried = Uploads("Run 7"), Event(), Event()

    def never() -> None:
        tried.set()
        raise StoreAwayError("It is away.")

    uploads.add(Upload("checkpoint", never))
    assert tried.wait(20)
    uploads.add(Upload("checkpoint", done.set))
    assert done.wait(20)
    assert uploads.wait(20)


def test_once_closed_it_carries_out_what_waits_and_ends() -> None:
    uploads, order = Uploads("Run 7"), []
    for name in ("log", "clear", "folder"):
        uploads.add(Upload(name, partial(order.append, name)))
    uploads.close()
    assert uploads.thread is not None
    uploads.thread.join(20)
    assert not uploads.thread.is_alive()
    assert order == ["log", "clear", "folder"]
