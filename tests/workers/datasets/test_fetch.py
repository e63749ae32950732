"""Fetching, from a real server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.workers.datasets.publisher import Publisher
from workers.catalog import load_catalog
from workers.datasets import _cache
from workers.datasets._fetch import Original, fetch_originals
from workers.datasets._idx import STEMS
from workers.datasets._imported import ImportedDataset
from workers.errors import DatasetError

CONTENT = bytes(range(256)) * 40
MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with Publisher({"/file.bin": CONTENT}).serving() as publisher:
        yield publisher


def fetched(publisher: Publisher, digest: str = MD5) -> bytes:
    original = Original("file.bin", (f"{publisher.address}/file.bin",), digest)
    return (fetch_originals("toy", (original,), lambda *_: None) / "file.bin").read_bytes()


def part_of(home: Path) -> Path:
    return home / "originals" / "toy" / "file.bin.part"


def test_a_file_is_fetched_whole_and_only_once(publisher: Publisher, data_home: Path) -> None:
    assert fetched(publisher) == CONTENT
    assert fetched(publisher) == CONTENT
    assert publisher.requests == [("/file.bin", "")]
    assert sorted(path.name for path in part_of(data_home).parent.iterdir()) == [".lock", "file.bin"]


def test_a_cut_connection_goes_on_where_it_was_cut(publisher: Publisher) -> None:
    publisher.cuts = [1000, 500]
    assert fetched(publisher) == CONTENT
    assert [byte_range for _, byte_range in publisher.requests] == ["", "bytes=1000-", "bytes=1500-"]


def test_a_later_fetch_goes_on_from_what_an_earlier_one_left(publisher: Publisher, data_home: Path) -> None:
    part_of(data_home).parent.mkdir(parents=True)
    part_of(data_home).write_bytes(CONTENT[:700])
    assert fetched(publisher) == CONTENT
    assert publisher.requests == [("/file.bin", "bytes=700-")]


def test_a_part_that_is_whole_already_is_only_checked(publisher: Publisher, data_home: Path) -> None:
    part_of(data_home).parent.mkdir(parents=True)
    part_of(data_home).write_bytes(CONTENT)
    assert fetched(publisher) == CONTENT


def test_a_server_that_knows_no_ranges_starts_over(publisher: Publisher) -> None:
    publisher.ranges, publisher.cuts = False, [1000]
    assert fetched(publisher) == CONTENT


def test_a_part_of_some_other_longer_file_is_dropped(publisher: Publisher, data_home: Path) -> None:
    part_of(data_home).parent.mkdir(parents=True)
    part_of(data_home).write_bytes(CONTENT + b"more")
    assert fetched(publisher) == CONTENT


def test_a_wrong_checksum_keeps_nothing_and_says_what_to_do(publisher: Publisher, data_home: Path) -> None:
    with pytest.raises(DatasetError, match=r"not what its publisher lists .* import a copy you trust"):
        fetched(publisher, "md5:00000000000000000000000000000000")
    assert [path.name for path in part_of(data_home).parent.iterdir()] == [".lock"]


def test_a_damaged_original_is_fetched_again(publisher: Publisher, data_home: Path) -> None:
    part_of(data_home).parent.mkdir(parents=True)
    part_of(data_home).with_name("file.bin").write_bytes(b"damaged")
    assert fetched(publisher) == CONTENT


def test_a_connection_that_brings_nothing_is_given_up_and_the_part_stays(publisher: Publisher, data_home: Path) -> None:
    publisher.cuts = [400, 0, 0, 0]
    with pytest.raises(DatasetError, match="cut again and again"):
        fetched(publisher)
    assert part_of(data_home).read_bytes() == CONTENT[:400]


def test_without_a_network_it_says_how_to_import(publisher: Publisher) -> None:
    closed = Original("file.bin", ("http://127.0.0.1:1/file.bin",), MD5)
    with pytest.raises(DatasetError) as refused:
        fetch_originals("mnist", (closed,), lambda *_: None)
    assert refused.value.detail.startswith(
        "no network: put the originals in a folder and import them: manage.py datasets import mnist PATH"
    )


def test_a_publisher_that_refuses_is_not_called_no_network(publisher: Publisher) -> None:
    gone = Original("gone.bin", (f"{publisher.address}/gone.bin",), MD5)
    with pytest.raises(DatasetError, match=r"does not hand it out .* answers 404 Not Found"):
        fetch_originals("toy", (gone,), lambda *_: None)


def test_the_second_address_is_tried_where_the_first_fails(publisher: Publisher) -> None:
    two = Original("file.bin", ("http://127.0.0.1:1/file.bin", f"{publisher.address}/file.bin"), MD5)
    assert (fetch_originals("toy", (two,), lambda *_: None) / "file.bin").read_bytes() == CONTENT


def test_progress_counts_bytes_and_ends_at_one(publisher: Publisher) -> None:
    reports: list[tuple[float, str]] = []
    original = Original("file.bin", (f"{publisher.address}/file.bin",), MD5)
    fetch_originals("toy", (original,), lambda *each: reports.append(each))
    assert reports[-1] == (1.0, "file.bin: 0.0 of 0.0 MB")


def test_fetching_a_data_set_downloads_then_imports_it(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch, data_home: Path
) -> None:
    files = tiny_mnist()
    publisher.files = {f"/mirror/mnist/{name}": content for name, content in files.items()}
    mnist = load_catalog().datasets["mnist"]
    assert isinstance(mnist, ImportedDataset)
    listed = tuple(Original(name, (), f"md5:{hashlib.md5(content).hexdigest()}") for name, content in files.items())
    monkeypatch.setattr(type(mnist), "originals", listed)
    monkeypatch.setenv("TRIBUTARY_MIRROR", f"{publisher.address}/mirror/")
    reports: list[float] = []
    mnist.fetch(lambda share, text: reports.append(share))
    known = _cache.manifest_of("mnist")
    assert known is not None
    assert (known.train, known.test, known.shape) == (6, 4, (1, 2, 2))
    assert (reports == sorted(reports), reports[-1]) == (True, 1.0)


def tiny_mnist() -> dict[str, bytes]:
    """Six and four pictures of 2 x 2 pixels, as idx.gz."""
    parts = []
    for count in (6, 4):
        pictures = np.arange(count * 4, dtype=np.uint8).tobytes()
        parts.append(struct.pack(">4B3i", 0, 0, 8, 3, count, 2, 2) + pictures)
        parts.append(struct.pack(">4Bi", 0, 0, 8, 1, count) + bytes(range(count)))
    return {f"{stem}-ubyte.gz": gzip.compress(part) for stem, part in zip(STEMS, parts, strict=True)}


def test_femnist_says_why_nothing_can_be_fetched() -> None:
    femnist = load_catalog().datasets["femnist"]
    assert isinstance(femnist, ImportedDataset)
    with pytest.raises(DatasetError, match="LEAF publishes FEMNIST as a program"):
        femnist.fetch()


def test_every_listed_original_has_an_address_and_a_checksum() -> None:
    listed = {
        name: list(each.originals)
        for name, each in load_catalog().datasets.items()
        if isinstance(each, ImportedDataset)
    }
    assert {name: len(originals) for name, originals in listed.items()} == {
        "cifar10": 1,
        "cifar100": 1,
        "cinic10": 1,
        "fashion-mnist": 4,
        "femnist": 0,
        "mnist": 4,
        "npz": 0,
        "own": 0,
        "svhn": 2,
        "uci-har": 1,
    }
    for original in (each for originals in listed.values() for each in originals):
        kind, _, digest = original.digest.partition(":")
        assert (kind, len(digest)) in {("md5", 32), ("sha256", 64)}
        assert original.addresses
