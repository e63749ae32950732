"""Archives of apps as people upload them: good ones, careless ones and hostile ones. Each function writes one file."""

from __future__ import annotations

import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.workers.apps.reference import EXAMPLES

APP = EXAMPLES / "numpy-least-squares"
MANIFEST = "pyproject.toml"
MEGABYTE = 2**20
Files = dict[str, bytes]


def app_files(folder: Path = APP) -> Files:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def write_zip(path: Path, files: Files | None = None, *more: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    """The app's files, or those given, then whatever entries follow: any name, twice if need be."""
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.filterwarnings("ignore", message="Duplicate name")
        for name, content in [*(app_files() if files is None else files).items(), *more]:
            archive.writestr(name, content)
    return path


def write_github_zip(path: Path) -> Path:
    """Everything in one folder, as GitHub makes them: legal."""
    return write_zip(path, {f"numpy-least-squares-main/{name}": content for name, content in app_files().items()})


def write_fab(path: Path, folder: Path = APP) -> Path:
    """As `flwr build` makes it, with a list of contents in `.info/CONTENT`: legal."""
    path.write_bytes(build_bundle(folder))
    return path


def build_bundle(folder: Path) -> bytes:
    from flwr.cli.build import build_fab_from_disk

    with warnings.catch_warnings():
        # Flower uses a name that pathspec will drop.
        warnings.filterwarnings("ignore", message="GitWildMatchPattern", category=DeprecationWarning)
        return build_fab_from_disk(folder)


def write_path_traversal(path: Path, name: str = "../x") -> Path:
    return write_zip(path, None, (name, b"outside"))


def write_absolute_path(path: Path, target: Path) -> Path:
    return write_zip(path, None, (str(target), b"outside"))


def write_symlink(path: Path, name: str = "secrets.txt", target: str = "/etc/passwd") -> Path:
    return write_zip(path, None, (special_entry(name, stat.S_IFLNK), target.encode()))


def write_file_behind_symlink(path: Path, target: Path) -> Path:
    """A link to a folder, then a file whose path leads through it."""
    link = special_entry("data", stat.S_IFLNK)
    return write_zip(path, None, (link, str(target).encode()), ("data/x", b"outside"))


def write_named_pipe(path: Path) -> Path:
    """Who opens it waits for ever."""
    return write_zip(path, None, (special_entry("pipe", stat.S_IFIFO), b""))


def special_entry(name: str, kind: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3  # Unix, whose file modes the upper half of the attributes holds
    entry.external_attr = (kind | 0o777) << 16
    return entry


def write_bomb(path: Path, megabytes: int = 1024) -> Path:
    """Zeros: a thousandth of their size as an archive."""
    write_zip(path)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("zeros.bin", "w", force_zip64=True) as entry,
    ):
        for _ in range(megabytes):
            entry.write(bytes(MEGABYTE))
    return path


def write_bomb_that_lies(path: Path, megabytes: int = 64) -> Path:
    """A bomb whose headers say that it unpacks to ten bytes."""
    write_zip(path, None, ("zeros.bin", bytes(megabytes * MEGABYTE)))
    size = struct.pack("<L", megabytes * MEGABYTE)
    content = path.read_bytes()
    if content.count(size) != 2:
        raise AssertionError("The size is expected in the entry's own header and in the archive's directory.")
    path.write_bytes(content.replace(size, struct.pack("<L", 10)))
    return path


def write_duplicate_names(path: Path) -> Path:
    """Two manifests: who checks the first may unpack the second."""
    return write_zip(path, None, (MANIFEST, app_files()[MANIFEST].replace(b"1.0.0", b"6.6.6")))


def write_too_many_files(path: Path, count: int = 20_000) -> Path:
    return write_zip(path, {**app_files(), **{f"empty/{number}.py": b"" for number in range(count)}})


def write_two_apps(path: Path) -> Path:
    return write_zip(path, {f"{top}/{name}": content for top in "ab" for name, content in app_files().items()})


def write_no_manifest(path: Path) -> Path:
    return write_zip(path, {name: content for name, content in app_files().items() if name != MANIFEST})


def write_missing_components(path: Path) -> Path:
    return write_manifest(path, lambda text: text.replace("[tool.flwr.app.components]", "[tool.other]"))


def write_huge_manifest(path: Path, megabytes: int = 20) -> Path:
    return write_manifest(path, lambda text: text + ("# " + "x" * 77 + "\n") * (megabytes * MEGABYTE // 80))


def write_broken_manifest(path: Path) -> Path:
    return write_manifest(path, lambda text: text + "\n[tool.flwr.app\n")


def write_not_a_zip(path: Path) -> Path:
    path.write_bytes(b"PK\x03\x04 and then nothing of the kind")
    return path


def write_manifest(path: Path, edit: Callable[[str], str]) -> Path:
    files = app_files()
    return write_zip(path, {**files, MANIFEST: edit(files[MANIFEST].decode()).encode()})
