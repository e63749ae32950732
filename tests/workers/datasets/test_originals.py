import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from workers.datasets._originals import Originals
from workers.errors import DatasetError


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"inside/{name}", content)
    return buffer.getvalue()


def test_files_are_found_by_the_end_of_their_path(tmp_path: Path) -> None:
    (tmp_path / "deep" / "train").mkdir(parents=True)
    (tmp_path / "deep" / "train" / "x.txt").write_bytes(b"here")
    with Originals(tmp_path) as originals:
        assert originals.one("train/x.txt") == b"here"
        assert originals.find("*.txt") == ["deep/train/x.txt"]
        assert originals.find("ain/x.txt") == []


def test_a_compressed_file_answers_for_the_plain_one(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"plain"))
    with Originals(tmp_path) as originals:
        assert originals.one("a") == b"plain"


def test_archives_and_archives_inside_them_are_looked_into(tmp_path: Path) -> None:
    (tmp_path / "outer.zip").write_bytes(zipped(**{"inner.zip": zipped(a=b"nested")}))
    with Originals(tmp_path) as originals:
        assert originals.one("a") == b"nested"


def test_one_archive_can_be_given_itself(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        for name in ("one", "two"):
            info = tarfile.TarInfo(f"folder/{name}")
            info.size = 3
            archive.addfile(info, io.BytesIO(name.encode()))
    with Originals(tmp_path / "all.tar.gz") as originals:
        assert [originals.one("two"), originals.one("one"), originals.one("two")] == [b"two", b"one", b"two"]


def test_a_missing_file_says_what_was_looked_for(tmp_path: Path) -> None:
    with Originals(tmp_path) as originals, pytest.raises(DatasetError, match=r"No a or b in .*Give the folder"):
        originals.one("a", "b")


def test_a_missing_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nowhere does not exist"):
        Originals(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["broken.zip", "broken.tar.gz"])
def test_a_broken_archive_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(zipped(a=b"x" * 1000)[:100])
    with pytest.raises(DatasetError, match="not a complete archive"), Originals(tmp_path):
        pass


def test_a_truncated_compressed_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"plain" * 100)[:-12])
    with Originals(tmp_path) as originals, pytest.raises(DatasetError, match=r"cannot be read.*Get it again"):
        originals.one("a")
