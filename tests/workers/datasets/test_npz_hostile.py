"""Files that mean harm or are broken: each is refused with its reason, in no more memory than the file has."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.datasets import npz
from workers.datasets.npz import parse_npz
from workers.errors import DatasetError
from workers.home import home


def array(descr: str, shape: str, body: bytes = b"", header: str | None = None, version: int = 1) -> bytes:
    """A .npy file, whatever its header says."""
    text = header if header is not None else f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    raw = (text.ljust(117) + "\n").encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(raw).to_bytes(2 if version == 1 else 4, "little") + raw + body


LABELS = array("'<i8'", "(2,)", np.arange(2).tobytes())
SOUND = array("'<f8'", "(2, 3)", bytes(48))


def packed(x: bytes = SOUND, y: bytes = LABELS, method: int = zipfile.ZIP_STORED, **more: bytes) -> bytearray:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in {"x.npy": x, "y.npy": y, **more}.items():
            archive.writestr(name, content)
    return bytearray(file.getvalue())


def with_header(text: str) -> bytearray:
    return packed(array("", "", header=text))


def encrypted() -> bytearray:
    raw = packed()
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = -1
        while (place := raw.find(mark, place + 1)) >= 0:
            raw[place + flags] |= 1
    return raw


def damaged(method: int) -> bytearray:
    raw = packed(method=method)
    for place in range(45, 80):
        raw[place] ^= 0xFF
    return raw


NUMBERS = "x should hold numbers, as samples x features or as pictures"
HOSTILE = {
    "values of no size, a terabyte as float": (packed(array("'|S0'", "(1000000000000,)")), "more than 8 GB"),
    "a terabyte of nothing": (packed(array("'|V0'", "(1000000000000, 2)")), "more than 8 GB"),
    "small numbers that grow": (packed(array("'|i1'", "(3000000000, 1)")), "more than 8 GB"),
    "less than nothing": (packed(array("'<f8'", "(-5,)")), "negative dimensions"),
    "an open bracket": (with_header("(" * 900), "cannot be read: .*EOF"),
    "an open text": (with_header("'''"), "cannot be read: .*EOF"),
    "a deep sum": (with_header("-" * 5000 + "1"), "recursion"),
    "a long header": (with_header(" " * 60_000), "Header info length"),
    "code as header": (with_header("__import__('os').system('id')"), "malformed node or string"),
    "another version": (packed(array("'<f8'", "(2, 3)", version=9)), "format version"),
    "no array": (packed(b"hello"), "magic string"),
    "cut off": (packed(array("'<f8'", "(20, 3)", b"\0")), "expected 480 bytes got 1"),
    "words": (packed(array("'<U3'", "(2,)", bytes(24))), NUMBERS),
    "records": (packed(array("[('a', '<f8'), ('b', '<i4')]", "(2,)", bytes(24))), NUMBERS),
    "moments": (packed(array("'<M8[s]'", "(2, 1)", bytes(16))), NUMBERS),
    "imaginary": (packed(array("'<c16'", "(2, 1)", bytes(32))), NUMBERS),
    "one number": (packed(array("'<f8'", "()", bytes(8))), NUMBERS),
    "five axes": (packed(array("'<f8'", "(2, 1, 1, 1, 1)", bytes(16))), NUMBERS),
    "not a number": (packed(array("'<f8'", "(2, 1)", np.array([np.nan, 1]).tobytes())), "no finite numbers"),
    "too large for float32": (packed(array("'<f8'", "(2, 1)", np.array([1e300, 1]).tobytes())), "no finite numbers"),
    "labels of two axes": (packed(y=array("'<i8'", "(2, 1)", bytes(16))), "one integer from 0"),
    "clients that are fractions": (packed(**{"client.npy": array("'<f8'", "(2,)", bytes(16))}), "one client for each"),
    "encrypted": (encrypted(), "encrypted"),
    "damaged LZMA": (damaged(zipfile.ZIP_LZMA), "Corrupt input"),
    "damaged BZIP2": (damaged(zipfile.ZIP_BZIP2), "Invalid data stream"),
    "no zip": (bytearray(b"hello"), "not a zip file"),
    "a pickle": (bytearray(b"\x80\x04]\x94."), "not a zip file"),
    "empty": (bytearray(), "not a zip file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_with_its_reason(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "allowed_memory", lambda: 16 * 2**30)
    content, message = HOSTILE[name]
    with pytest.raises(DatasetError, match=message):
        parse_npz(bytes(content), "theirs.npz")


def test_a_small_machine_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "allowed_memory", lambda: 4 * 2**30)
    with pytest.raises(DatasetError, match="more than 2 GB of numbers"):
        parse_npz(bytes(packed(array("'|u1'", "(2147483649, 1)"))), "theirs.npz")


ZEROS = bytes(80_000_000)
"""What 80 kB of a compressed file stand for."""


def tarred(content: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        info = tarfile.TarInfo("theirs.npz")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def zipped(content: bytes) -> bytes:
    return bytes(packed(x=content, method=zipfile.ZIP_DEFLATED))


BOMBS = {
    "theirs.npz.gz": lambda: gzip.compress(ZEROS),
    "theirs.tar.gz": lambda: gzip.compress(tarred(ZEROS)),
    "theirs.npz": lambda: zipped(array("'|u1'", "(80000000, 1)", ZEROS)),
    "theirs.zip": lambda: zipped(ZEROS).replace(b"x.npy", b"x.npz"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_a_hundred_times_its_size_is_given_up_on_the_way(name: str, tmp_path: Path) -> None:
    content = BOMBS[name]()
    assert len(content) < 200_000
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match="unpacks to more than 100 times its size"):
        load_catalog().datasets["npz"].import_from(tmp_path / name)  # type: ignore[attr-defined]


def test_members_that_lead_out_of_the_file_are_left_in_it(tmp_path: Path) -> None:
    content = packed(**{"../../../evil.npy": SOUND, "/etc/evil.npy": SOUND, "x.npy/../evil": SOUND})
    (tmp_path / "theirs.npz").write_bytes(content)
    load_catalog().datasets["npz"].import_from(tmp_path / "theirs.npz")  # type: ignore[attr-defined]
    assert (home() / "datasets" / "npz-theirs").is_dir()
    assert not list(tmp_path.rglob("*evil*"))
    assert not Path("/etc/evil.npy").exists()
