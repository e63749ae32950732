from __future__ import annotations

import hashlib
import json
import logging
import math
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from workers.engine.checkpoint import (
    CheckpointPolicy,
    CheckpointState,
    CheckpointWriter,
    HistoryFile,
    checkpoints_in,
    load_checkpoint,
    load_newest_checkpoint,
    policy_of,
    save_checkpoint,
)
from workers.errors import CheckpointError

ARRAYS, HISTORY, STATE = "arrays.safetensors", "history.jsonl", "state.json"


def state(round_: int, **changes: object) -> CheckpointState:
    fields = {
        "identity": "run-a",
        "round": round_,
        "engine": "cohort",
        "arrays": {"w": np.arange(6, dtype=np.float32).reshape(2, 3) + round_},
        "facts": {"best": 0.5},
    }
    return CheckpointState(**(fields | changes))  # type: ignore[arg-type]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def load_from(folder: Path, identity: str = "run-a") -> CheckpointState | None:
    policy = policy_of(folder)
    assert policy is not None
    return load_newest_checkpoint(policy, identity)


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    save_checkpoint(CheckpointPolicy(tmp_path), state(7))
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert (loaded.identity, loaded.round, loaded.engine, loaded.facts) == ("run-a", 7, "cohort", {"best": 0.5})
    assert loaded.arrays["w"].tolist() == [[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]


def test_arrays_keep_order_dtype_shape_and_every_bit(tmp_path: Path) -> None:
    arrays = {
        "weights": np.array([[1 / 3, -0.0], [np.nan, np.inf]]),
        "steps": np.array(2**40 + 1, dtype=np.int64),
        "mask": np.array([True, False, True]),
        "scalar": np.array(0.1, dtype=np.float32),
        "nobody": np.zeros((0, 4), dtype=np.float32),
        "turned": np.arange(6, dtype=np.float64).reshape(2, 3).T,
        "every other": np.arange(8, dtype=np.int32)[::2],
    }
    save_checkpoint(CheckpointPolicy(tmp_path), state(1, arrays=arrays))
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert list(loaded.arrays) == list(arrays)
    for name, array in arrays.items():
        assert (loaded.arrays[name].dtype, loaded.arrays[name].shape) == (array.dtype, array.shape)
        assert loaded.arrays[name].tobytes() == array.tobytes()


def test_loaded_arrays_can_be_trained_on(tmp_path: Path) -> None:
    save_checkpoint(CheckpointPolicy(tmp_path), state(1))
    loaded = load_from(tmp_path)
    assert loaded is not None
    loaded.arrays["w"] += 1
    assert loaded.arrays["w"][0, 0] == 2.0


def test_facts_keep_nan_infinity_and_the_last_digit_of_a_number(tmp_path: Path) -> None:
    facts = {"loss": math.nan, "worst": -math.inf, "third": 1 / 3, "count": np.int64(3), "nested": {"list": [1, None]}}
    save_checkpoint(CheckpointPolicy(tmp_path), state(1, facts=facts))
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert math.isnan(loaded.facts["loss"])
    assert loaded.facts["worst"] == -math.inf
    assert loaded.facts["third"] == 1 / 3
    assert loaded.facts["count"] == 3
    assert loaded.facts["nested"] == {"list": [1, None]}


def test_a_state_without_arrays_is_a_checkpoint_too(tmp_path: Path) -> None:
    save_checkpoint(CheckpointPolicy(tmp_path), state(1, arrays={}))
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert loaded.arrays == {}


def test_the_newest_two_of_a_token_are_kept(tmp_path: Path) -> None:
    save_checkpoint(CheckpointPolicy(tmp_path, token="other"), state(5))
    for round_ in (10, 20, 30):
        save_checkpoint(CheckpointPolicy(tmp_path, token="mine"), state(round_))
    assert names(tmp_path) == ["round-00000005.other", "round-00000020.mine", "round-00000030.mine"]


def test_it_saves_the_same_round_again(tmp_path: Path) -> None:
    save_checkpoint(CheckpointPolicy(tmp_path), state(10))
    save_checkpoint(CheckpointPolicy(tmp_path), state(10, facts={"best": 0.75}))
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert loaded.facts == {"best": 0.75}
    assert names(tmp_path) == ["round-00000010"]


def test_a_save_is_never_pruned_by_later_rounds_of_another_run(tmp_path: Path) -> None:
    for round_ in (50, 60):
        save_checkpoint(CheckpointPolicy(tmp_path), state(round_, identity="run-b"))
    save_checkpoint(CheckpointPolicy(tmp_path), state(10))
    assert names(tmp_path) == ["round-00000010", "round-00000050", "round-00000060"]
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert loaded.round == 10


def test_it_tells_round_and_path_once_saved(tmp_path: Path) -> None:
    saved: list[tuple[int, str, bool]] = []
    policy = CheckpointPolicy(
        tmp_path, token="t1", on_saved=lambda round_, path: saved.append((round_, path.name, path.exists()))
    )
    assert save_checkpoint(policy, state(3)).name == "round-00000003.t1"
    assert saved == [(3, "round-00000003.t1", True)]


def test_no_folder_means_nothing_to_resume(tmp_path: Path) -> None:
    assert load_from(tmp_path / "absent") is None
    assert policy_of(None) is None


def test_the_policy_names_the_candidates_itself(tmp_path: Path) -> None:
    policy = CheckpointPolicy(tmp_path)
    save_checkpoint(policy, state(10))
    assert load_newest_checkpoint(policy, "run-a") is None
    assert policy_of(policy) is policy


def test_of_one_round_the_one_written_last_comes_first(tmp_path: Path) -> None:
    for token in ("b", "a"):
        save_checkpoint(CheckpointPolicy(tmp_path, token=token), state(10))
    assert [path.name for path in checkpoints_in(tmp_path)] == ["round-00000010.a", "round-00000010.b"]


def keep_bytes(share: float) -> object:
    def cut(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])

    return cut


def lose_last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def add_a_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


DAMAGE = {
    "empty": keep_bytes(0),
    "first bytes only": lambda path: path.write_bytes(path.read_bytes()[:4]),
    "length only": lambda path: path.write_bytes(path.read_bytes()[:8]),
    "half": keep_bytes(0.5),
    "last byte lost": lose_last_byte,
    "gone": lambda path: path.unlink(),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.mark.parametrize("file", [ARRAYS, STATE])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_truncated_newest_one_gives_way_to_the_one_before(
    tmp_path: Path, file: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    for round_ in (10, 20):
        save_checkpoint(CheckpointPolicy(tmp_path), state(round_))
    DAMAGE[damage](tmp_path / "round-00000020" / file)  # type: ignore[operator]
    with caplog.at_level(logging.WARNING):
        loaded = load_from(tmp_path)
    assert loaded is not None
    assert loaded.round == 10
    assert loaded.arrays["w"][0, 0] == 10.0
    assert "round-00000020" in caplog.text


def test_bytes_added_to_the_arrays_are_noticed(tmp_path: Path) -> None:
    add_a_byte(save_checkpoint(CheckpointPolicy(tmp_path), state(10)) / ARRAYS)
    assert load_from(tmp_path) is None


@pytest.mark.parametrize("file", [ARRAYS, STATE])
def test_no_single_flipped_bit_is_believed(tmp_path: Path, file: str) -> None:
    path = save_checkpoint(CheckpointPolicy(tmp_path), state(10)) / file
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        assert load_from(tmp_path) is None, f"byte {place} of {file}"


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save_checkpoint(CheckpointPolicy(tmp_path), state(10))
    assert load_from(tmp_path, "run-b") is None
    assert "The checkpoint round-00000010 belongs to another run; it is not used." in caplog.text


def test_a_checkpoint_of_a_later_format_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = save_checkpoint(CheckpointPolicy(tmp_path), state(10)) / STATE
    text = json.dumps(json.loads(json.loads(path.read_text())["state"]) | {"format": 99})
    path.write_text(json.dumps({"state": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}))
    assert load_from(tmp_path) is None
    assert "format 99, but this version reads the formats 1 and 2" in caplog.text


def test_a_run_that_may_not_begin_anew_is_refused_where_none_of_several_can_be_used(tmp_path: Path) -> None:
    for round_ in (10, 20):
        save_checkpoint(CheckpointPolicy(tmp_path), state(round_))
    lose_last_byte(tmp_path / "round-00000020" / ARRAYS)
    refused: list[str] = []
    policy = CheckpointPolicy(
        tmp_path,
        resume=[tmp_path / "round-00000030", *checkpoints_in(tmp_path)],
        on_refused=lambda error: refused.append(str(error)),
        unusable="Choose another folder.",
    )
    usable = load_newest_checkpoint(policy, "run-a")
    assert usable is not None
    assert usable.round == 10
    assert refused == [
        f"The checkpoint round-00000030 is not whole: {tmp_path}/round-00000030/state.json is missing.",
        "The arrays of the checkpoint round-00000020 are truncated or damaged; it is not used.",
    ]
    with pytest.raises(CheckpointError, match=r"^Choose another folder\.") as caught:
        load_newest_checkpoint(policy, "run-b")
    assert "round-00000010" in str(caught.value)
    assert "round-00000020" in str(caught.value)


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_fails_leaves_the_one_before_and_says_so(tmp_path: Path) -> None:
    save_checkpoint(CheckpointPolicy(tmp_path), state(10))
    large = {"w": np.zeros(100_000)}
    with files_no_larger_than(4096), pytest.raises(CheckpointError, match="round 20 could not be written"):
        save_checkpoint(CheckpointPolicy(tmp_path), state(20, arrays=large))
    assert names(tmp_path) == ["round-00000010"]
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert loaded.round == 10


def test_a_process_killed_before_the_rename_leaves_nothing_to_believe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def never(self: Path, target: Path) -> Path:
        raise Killed

    save_checkpoint(CheckpointPolicy(tmp_path), state(10))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", never)
        with pytest.raises(Killed):
            save_checkpoint(CheckpointPolicy(tmp_path), state(20))
    assert names(tmp_path) == [".unfinished-round-00000020", "round-00000010"]
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert loaded.round == 10
    save_checkpoint(CheckpointPolicy(tmp_path), state(30))
    assert names(tmp_path) == ["round-00000010", "round-00000030"]


def test_an_attempt_leaves_the_unfinished_work_of_another_alone(tmp_path: Path) -> None:
    (tmp_path / ".unfinished-round-00000020.other").mkdir()
    save_checkpoint(CheckpointPolicy(tmp_path, token="mine"), state(10))
    assert names(tmp_path) == [".unfinished-round-00000020.other", "round-00000010.mine"]


@pytest.mark.parametrize("token", ["a/b", "..", "a.b", "a b"])
def test_a_token_cannot_leave_the_folder(tmp_path: Path, token: str) -> None:
    with pytest.raises(CheckpointError, match="letters, digits"):
        CheckpointPolicy(tmp_path, token=token)


def test_every_is_one_or_more(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="every 1 or more rounds"):
        CheckpointPolicy(tmp_path, every=0)


def test_facts_that_are_not_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="set is not"):
        save_checkpoint(CheckpointPolicy(tmp_path), state(1, facts={"names": {"a"}}))


ROUNDS = [[0, {"loss": 2.0}, []], [1, {"loss": 1 / 3}, [4, 2]], [2, {"loss": math.inf}, [0]]]


def save_two(folder: Path) -> tuple[Path, Path]:
    """After round 1 and after round 2, by one attempt."""
    policy, history = CheckpointPolicy(folder), HistoryFile()
    first = save_checkpoint(policy, state(1, history=ROUNDS[:2]), history)
    return first, save_checkpoint(policy, state(2, history=ROUNDS), history)


def history_in(path: Path) -> list[object]:
    loaded = load_newest_checkpoint(CheckpointPolicy(path.parent, resume=[path]), "run-a")
    assert loaded is not None
    return list(loaded.history)


def test_rounds_are_appended_to_one_file_and_each_checkpoint_has_its_own_of_them(tmp_path: Path) -> None:
    first, second = save_two(tmp_path)
    assert (first / HISTORY).stat().st_ino == (second / HISTORY).stat().st_ino
    assert (second / HISTORY).read_text() == (
        '[0, {"loss": 2.0}, []]\n[1, {"loss": 0.3333333333333333}, [4, 2]]\n[2, {"loss": Infinity}, [0]]\n'
    )
    assert (history_in(first), history_in(second)) == (ROUNDS[:2], ROUNDS)


def test_a_torn_tail_of_the_history_is_never_believed(tmp_path: Path) -> None:
    first, second = save_two(tmp_path)
    with (second / HISTORY).open("a") as file:
        file.write('[3, {"loss": 0.1}, [1]]\n[4, {"lo')
    assert (history_in(first), history_in(second)) == (ROUNDS[:2], ROUNDS)


def test_a_checkpoint_that_came_to_nothing_leaves_no_rounds_to_the_next(tmp_path: Path) -> None:
    policy, history = CheckpointPolicy(tmp_path), HistoryFile()
    first = save_checkpoint(policy, state(1, history=ROUNDS[:2]), history)
    with (first / HISTORY).open("a") as file:
        file.write('[2, {"loss": 7.0}, [0]]\n')
    second = save_checkpoint(policy, state(2, history=ROUNDS), history)
    assert history_in(second) == ROUNDS


def test_a_damaged_round_costs_only_the_checkpoints_that_have_it(tmp_path: Path) -> None:
    _, second = save_two(tmp_path)
    text = (second / HISTORY).read_text()
    (second / HISTORY).write_text(text.replace("Infinity", "-1.00000"))
    with pytest.raises(CheckpointError, match="history of the checkpoint round-00000002 is truncated or damaged"):
        load_checkpoint(second, "run-a")
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert (loaded.round, loaded.history) == (1, ROUNDS[:2])


def test_where_the_history_before_is_gone_it_is_written_anew(tmp_path: Path) -> None:
    policy, history = CheckpointPolicy(tmp_path), HistoryFile()
    shutil.rmtree(save_checkpoint(policy, state(1, history=ROUNDS[:2]), history))
    assert history_in(save_checkpoint(policy, state(2, history=ROUNDS), history)) == ROUNDS


def test_another_attempt_writes_a_history_of_its_own(tmp_path: Path) -> None:
    _, second = save_two(tmp_path)
    policy = CheckpointPolicy(tmp_path, token="next")
    other = save_checkpoint(policy, state(3, history=[*ROUNDS, [3, {"loss": 0.5}, []]]), HistoryFile())
    assert (other / HISTORY).stat().st_ino != (second / HISTORY).stat().st_ino
    assert history_in(second) == ROUNDS
    assert len(history_in(other)) == 4


def test_a_checkpoint_of_the_format_before_is_read(tmp_path: Path) -> None:
    path = save_checkpoint(CheckpointPolicy(tmp_path), state(2))
    facts = json.loads(json.loads((path / STATE).read_text())["state"])
    del facts["history"]
    text = json.dumps(facts | {"format": 1, "facts": {"best": 0.5, "history": ROUNDS}})
    (path / STATE).write_text(json.dumps({"state": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}))
    (path / HISTORY).unlink()
    loaded = load_from(tmp_path)
    assert loaded is not None
    assert (loaded.facts, loaded.history) == ({"best": 0.5}, ROUNDS)


def test_a_checkpoint_is_written_while_the_run_goes_on_and_the_next_waits_for_it(tmp_path: Path) -> None:
    saved: list[int] = []
    disk = Event()

    def on_saved(number: int, path: Path) -> None:
        disk.wait(20)
        saved.append(number)

    writer = CheckpointWriter(CheckpointPolicy(tmp_path, on_saved=on_saved))
    writer.save(state(1, history=ROUNDS[:2]))
    assert saved == []
    disk.set()
    writer.save(state(2, history=ROUNDS))
    assert saved[:1] == [1]
    writer.wait()
    assert (saved, writer.saved_round) == ([1, 2], 2)
    writer.close()


def test_what_could_not_be_written_beside_the_run_is_raised_or_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    strict = CheckpointWriter(CheckpointPolicy(tmp_path / "file"))
    strict.save(state(1))
    with pytest.raises(CheckpointError, match="The checkpoint of round 1 could not be written"):
        strict.wait()
    strict.close()
    lost: list[int] = []
    policy = CheckpointPolicy(tmp_path / "file", on_unsaved=lambda number, error: lost.append(number))
    tolerant = CheckpointWriter(policy)
    tolerant.save(state(1))
    tolerant.wait()
    assert (lost, tolerant.saved_round) == ([1], -1)
    tolerant.close()
