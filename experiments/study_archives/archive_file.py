"""The one file an archived study is: a zip with a manifest of all that it holds. No database.

    study.json               name, description, tags, blocks, source, notes
    runs/0000/run.json       spec, identity, state, provenance, findings, notes
    runs/0000/rounds.jsonl   a line for each round: metrics, cohort, every client's numbers
    runs/0000/log.txt        what it said
    runs/0000/model.safetensors, runs/0000/files/...
    manifest.json            format, and size and SHA-256 of each file

A reader believes nothing that the manifest does not name, and no name that leads out of the archive.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workers.errors import TributaryError

FORMAT, PRODUCT = 1, "tributary-study"
MANIFEST, STUDY = "manifest.json", "study.json"
BLOCK = 1 << 20
LARGEST_TEXT, LARGEST_LINE = 256 * 2**20, 64 * 2**20
MOST_EXPANSION, SMALL = 200, 64 * 2**20
"""An archive never unpacks to more than so many times its size, or than a size that harms nobody."""
STORED_SUFFIXES = (".safetensors", ".npz", ".gz", ".zip", ".png", ".parquet")
RUN_FILE = re.compile(r"runs/\d{4,9}/(run\.json|rounds\.jsonl|log\.txt|model\.safetensors|files/.+)")
FIRST_DATE = (1980, 1, 1, 0, 0, 0)


class ArchiveError(TributaryError):
    """A file that is no archive of a study, or a damaged one."""


@dataclass(frozen=True)
class FileFacts:
    bytes: int
    sha256: str


class Pipe(io.RawIOBase):
    """What was written since it was last asked: a zip as a stream of parts."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        whole = b"".join(self.parts)
        self.parts.clear()
        return whole


def archive_parts(files: Iterable[tuple[str, Iterable[bytes]]]) -> Generator[bytes]:
    """The zip's bytes, as they come, with the manifest last. Equal files make equal archives."""
    pipe, facts = Pipe(), {}
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for name, blocks in files:
            digest, count = hashlib.sha256(), 0
            with archive.open(zip_entry(name), "w", force_zip64=True) as entry:
                for block in blocks:
                    digest.update(block)
                    count += len(block)
                    entry.write(block)
                    yield pipe.take()
            facts[name] = asdict(FileFacts(count, digest.hexdigest()))
        manifest = {"product": PRODUCT, "format": FORMAT, "files": facts}
        archive.writestr(zip_entry(MANIFEST), json.dumps(manifest, indent=1))
    yield pipe.take()


def zip_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, FIRST_DATE)
    stored = name.endswith(STORED_SUFFIXES)
    entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


def file_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


class StudyArchive:
    """An open archive of which every file was read once and is what the manifest says."""

    def __init__(self, path: Path) -> None:
        try:
            self.zip = zipfile.ZipFile(path)  # closed by `close`
            self.files = self.read_manifest()
            self.check_names(path.stat().st_size)
            for name, facts in self.files.items():
                self.check_file(name, facts)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise ArchiveError(
                f"{path.name} is no archive of a study, or is damaged ({error}): nothing was imported."
            ) from None

    def __enter__(self) -> StudyArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self.zip.close()

    @property
    def digest(self) -> str:
        """Of all that it holds."""
        facts = {name: each.sha256 for name, each in sorted(self.files.items())}
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def read_manifest(self) -> dict[str, FileFacts]:
        names = self.zip.namelist()
        if MANIFEST not in names or self.zip.getinfo(MANIFEST).file_size > LARGEST_TEXT:
            raise ArchiveError("The file has no manifest: it is no archive of a study, or was cut off.")
        try:
            content = json.loads(self.zip.read(MANIFEST))
            product, version = content["product"], content["format"]
            files = {
                str(name): FileFacts(int(each["bytes"]), each["sha256"]) for name, each in content["files"].items()
            }
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ArchiveError("The manifest cannot be read: the file is damaged.") from None
        if product != PRODUCT:
            raise ArchiveError("The manifest is another program's: this is no archive of a study.")
        if version != FORMAT:
            raise ArchiveError(f"The archive has format {version}, this Tributary reads {FORMAT}: install a newer one.")
        return files

    def check_names(self, size: int) -> None:
        names = self.zip.namelist()
        if len(names) != len(set(names)) or set(names) != {MANIFEST, *self.files} or STUDY not in self.files:
            raise ArchiveError("The file does not hold what its manifest names: it is damaged.")
        if odd := [name for name in self.files if name != STUDY and not is_safe_name(name)]:
            raise ArchiveError(f"The file holds {odd[0]!r}, which has no place in a study: nothing was imported.")
        total = sum(each.bytes for each in self.files.values())
        if total > max(SMALL, MOST_EXPANSION * size):
            raise ArchiveError(
                f"The file would unpack to {total / 1e6:,.0f} MB from {size / 1e6:,.1f}: nobody's study does."
            )

    def check_file(self, name: str, facts: FileFacts) -> None:
        digest, count = hashlib.sha256(), 0
        for block in self.blocks(name):
            count += len(block)
            if count > facts.bytes:
                break
            digest.update(block)
        if FileFacts(count, digest.hexdigest()) != facts:
            raise ArchiveError(f"{name} is not as it was archived: the file is damaged, nothing was imported.")

    def blocks(self, name: str) -> Iterator[bytes]:
        with self.zip.open(name) as file:
            while block := file.read(BLOCK):
                yield block

    def read_json(self, name: str) -> dict[str, Any]:
        if name not in self.files or self.files[name].bytes > LARGEST_TEXT:
            raise ArchiveError(f"The archive has no readable {name}: nothing was imported.")
        content = parse_json(self.zip.read(name), name)
        if not isinstance(content, dict):
            raise ArchiveError(f"{name} holds something else than it should: nothing was imported.")
        return content

    def read_lines(self, name: str) -> Iterator[Mapping[str, Any]]:
        if name not in self.files:
            return
        with self.zip.open(name) as file:
            while line := file.readline(LARGEST_LINE):
                yield parse_json(line, name)

    def extract(self, name: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with target.open("xb") as file:
            file.writelines(self.blocks(name))

    def names_below(self, folder: str) -> list[str]:
        return [name for name in self.files if name.startswith(f"{folder}/")]


def parse_json(text: bytes, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ArchiveError(f"{name} cannot be read: nothing was imported.") from None


def is_safe_name(name: str) -> bool:
    parts = name.split("/")
    plain = not {"", ".", ".."} & set(parts) and "\\" not in name and "\0" not in name
    return plain and RUN_FILE.fullmatch(name) is not None
