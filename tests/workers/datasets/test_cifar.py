import pickle
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.errors import DatasetError

PICTURE = np.arange(3072) % 251


def imported(name: str, folder: Path) -> Any:
    dataset = load_catalog().datasets[name]
    dataset.import_from(folder)
    return dataset.load(dataset.Params())


def write_rows(path: Path, *labels: list[int]) -> None:
    rows = [np.concatenate([label, PICTURE]) for label in labels]
    path.write_bytes(np.array(rows, np.uint8).tobytes())


def write_pickle(path: Path, protocol: int = 2, **fields: object) -> None:
    data = np.tile(PICTURE.astype(np.uint8), (2, 1))
    path.write_bytes(pickle.dumps({b"data": data, **{key.encode(): value for key, value in fields.items()}}, protocol))


def test_cifar10_reads_the_binary_version(tmp_path: Path) -> None:
    for number in range(1, 6):
        write_rows(tmp_path / f"data_batch_{number}.bin", [number])
    write_rows(tmp_path / "test_batch.bin", [9], [0])
    arrays = imported("cifar10", tmp_path)
    assert (arrays.train_x.shape, arrays.test_x.shape) == ((5, 3, 32, 32), (2, 3, 32, 32))
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([1, 2, 3, 4, 5], [9, 0])
    assert arrays.train_x[0].ravel().tolist() == PICTURE.tolist()


@pytest.mark.parametrize("protocol", [2, 4])
def test_cifar10_reads_the_python_version(tmp_path: Path, protocol: int) -> None:
    for name in [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]:
        write_pickle(tmp_path / name, protocol, labels=[3, 8])
    arrays = imported("cifar10", tmp_path)
    assert (arrays.train_x.shape, arrays.train_y.tolist()) == ((10, 3, 32, 32), [3, 8] * 5)
    assert arrays.test_x[1].ravel().tolist() == PICTURE.tolist()


def test_cifar100_takes_the_fine_label_of_the_binary_version(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.bin", [19, 99], [0, 7])
    write_rows(tmp_path / "test.bin", [3, 42])
    arrays = imported("cifar100", tmp_path)
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([99, 7], [42])
    assert arrays.train_x[1].ravel().tolist() == PICTURE.tolist()


def test_cifar100_takes_the_fine_label_of_the_python_version(tmp_path: Path) -> None:
    write_pickle(tmp_path / "train", fine_labels=[99, 7], coarse_labels=[1, 1])
    write_pickle(tmp_path / "test", fine_labels=[5, 6], coarse_labels=[1, 1])
    arrays = imported("cifar100", tmp_path)
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([99, 7], [5, 6])


def test_names_of_old_numpy_in_the_publishers_pickles_are_understood() -> None:
    """Protocol 0, as Python 2 wrote it: numpy.core.multiarray, which numpy 2 has renamed."""
    from workers.datasets.cifar import HarmlessUnpickler

    class Stream:
        def __init__(self, content: bytes) -> None:
            self.lines = content

        def readline(self) -> bytes:
            line, _, self.lines = self.lines.partition(b"\n")
            return line + b"\n"

        def read(self, count: int) -> bytes:
            chunk, self.lines = self.lines[:count], self.lines[count:]
            return chunk

    unpickler: Any = HarmlessUnpickler(Stream(b"cnumpy.core.multiarray\n_reconstruct\n."))
    assert unpickler.load().__name__ == "_reconstruct"


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = types.ModuleType("trap")
    trap.fired = []  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trap", trap)
    (tmp_path / "train").write_bytes(b"ctrap\nfired\n.")
    with pytest.raises(DatasetError, match=r"trap\.fired has no place in it"):
        load_catalog().datasets["cifar100"].import_from(tmp_path)


@pytest.mark.parametrize("content", [b"", b"x" * 3072])
def test_a_file_of_the_wrong_length_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "train.bin").write_bytes(content)
    with pytest.raises(DatasetError, match=r"train\.bin has \d+ bytes, which is no multiple of 3074"):
        load_catalog().datasets["cifar100"].import_from(tmp_path)


def test_an_empty_folder_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="No data_batch_1 in"):
        load_catalog().datasets["cifar10"].import_from(tmp_path)
