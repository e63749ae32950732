import json
import os
from pathlib import Path

import numpy as np
import pytest

from workers.catalog.component import Arrays
from workers.datasets import _cache
from workers.datasets._cache import CacheDamageError, Manifest, load, manifest_of, store, verify


def tiny(value: int = 7) -> Arrays:
    x = np.full((4, 1, 2, 2), value, np.uint8)
    return Arrays(x, np.arange(4), x[:2], np.arange(2), client=np.array(["b", "a", "b", "a"]))


@pytest.fixture
def stored(tmp_path: Path) -> Manifest:
    return store("tiny", tiny(), tmp_path)


def path_of(manifest: Manifest, key: str) -> Path:
    return _cache.folder_of("tiny") / manifest.entries[key].file


def test_what_is_stored_is_loaded_memory_mapped(stored: Manifest) -> None:
    arrays = load("tiny", stored)
    assert isinstance(arrays.train_x, np.memmap)
    assert np.array_equal(arrays.train_x, tiny().train_x)
    assert (arrays.train_y.dtype, arrays.client.tolist(), arrays.test_client) == (np.int64, ["b", "a", "b", "a"], None)


def test_the_manifest_has_the_facts(stored: Manifest, tmp_path: Path) -> None:
    assert manifest_of("tiny") == stored
    assert (stored.shape, stored.train, stored.test, stored.natural_clients) == ((1, 2, 2), 4, 2, 2)
    assert stored.source == str(tmp_path)
    assert stored.bytes == sum(path.stat().st_size for path in _cache.folder_of("tiny").glob("*.npy"))


def test_writing_to_loaded_arrays_does_not_reach_the_disk(stored: Manifest) -> None:
    load("tiny", stored).train_x[:] = 0
    assert load("tiny", stored).train_x.max() == 7


def test_equal_content_has_an_equal_checksum_and_other_content_another(stored: Manifest, tmp_path: Path) -> None:
    assert store("again", tiny(), tmp_path / "elsewhere").checksum == stored.checksum
    assert store("other", tiny(8), tmp_path).checksum != stored.checksum


def test_a_changed_byte_is_noticed_before_use(stored: Manifest) -> None:
    path = path_of(stored, "train_x")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CacheDamageError, match="its checksum differs"):
        load("tiny", stored)


def test_a_truncated_file_is_noticed(stored: Manifest) -> None:
    path = path_of(stored, "test_y")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CacheDamageError, match="141 bytes instead of 144"):
        load("tiny", stored)


def test_a_missing_file_is_noticed(stored: Manifest) -> None:
    path_of(stored, "client").unlink()
    with pytest.raises(CacheDamageError, match="is missing"):
        load("tiny", stored)


def test_a_file_that_was_only_touched_is_checked_and_used(stored: Manifest) -> None:
    path = path_of(stored, "train_x")
    os.utime(path, (1, 1))
    assert load("tiny", stored).train_x.max() == 7
    assert path.stat().st_mtime_ns == stored.entries["train_x"].changed


def test_verify_hashes_even_what_looks_untouched(stored: Manifest) -> None:
    assert list(verify("tiny", stored)) == []
    path, changed = path_of(stored, "train_x"), stored.entries["train_x"].changed
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    os.utime(path, ns=(changed, changed))
    (problem,) = verify("tiny", stored)
    assert problem.endswith("its checksum differs.")


def test_a_new_import_replaces_the_old_files(stored: Manifest, tmp_path: Path) -> None:
    store("tiny", tiny(9), tmp_path)
    assert len(list(_cache.folder_of("tiny").iterdir())) == 6
    assert load("tiny", manifest_of("tiny")).train_x.max() == 9


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 0}'])
def test_a_manifest_that_makes_no_sense_counts_as_none(stored: Manifest, content: str) -> None:
    (_cache.folder_of("tiny") / "manifest.json").write_text(content)
    assert manifest_of("tiny") is None


def test_the_manifest_is_plain_json(stored: Manifest) -> None:
    written = json.loads((_cache.folder_of("tiny") / "manifest.json").read_text())
    assert (written["train"], written["format"]) == (4, 1)
