"""What a path leads to: one table, a folder of tables (as Hugging Face writes them), or a folder of pictures."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from workers.data_import.limits import MOST_FILES
from workers.datasets._originals import open_bytes
from workers.errors import DatasetError

Part = Literal["train", "test"]
Format = Literal["csv", "parquet", "arrow"]
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
PARTS: dict[str, Part] = {
    "train": "train",
    "training": "train",
    "validation": "train",
    "valid": "train",
    "val": "train",
    "dev": "train",
    "test": "test",
    "testing": "test",
}
"""Words of folders, files and split columns. What is for validation is trained on: a run holds its own part out."""
STATE = "state.json"
"""In which `save_to_disk` says which .arrow files are the data, and not a cache of something else."""
WHAT_IS_UNDERSTOOD = (
    "Give a .csv, .tsv, .parquet or .arrow file, a folder of them, or a folder that has a folder of pictures for each "
    "class, perhaps below train and test."
)


@dataclass(frozen=True)
class TableFile:
    path: Path
    format: Format
    part: Part | None = None

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True)
class PictureFile:
    path: Path
    name: str
    """Below the folder that was given."""
    label: str
    part: Part | None


@dataclass(frozen=True)
class Source:
    """Either tables or pictures; `others` are files that are neither."""

    path: Path
    tables: tuple[TableFile, ...] = ()
    pictures: tuple[PictureFile, ...] = ()
    others: tuple[str, ...] = ()


def find_source(path: Path, within: Sequence[Path]) -> Source:
    if not path.exists():
        raise DatasetError(f"{path} does not exist. {WHAT_IS_UNDERSTOOD}")
    if path.is_file():
        if path.suffix.lower() not in FORMATS:
            raise DatasetError(f"{path.name} is no table. {WHAT_IS_UNDERSTOOD}")
        return Source(path, (TableFile(path, FORMATS[path.suffix.lower()]),))
    files = list(files_below(path))
    tables = [each for each in files if each.suffix.lower() in FORMATS]
    pictures = [each for each in files if each.suffix.lower() in PICTURES]
    understood = {*tables, *pictures}
    others = tuple(each.relative_to(path).as_posix() for each in files if each not in understood)
    if tables and pictures:
        raise DatasetError(f"{path} has tables ({tables[0].name}) and pictures ({pictures[0].name}): give one of them.")
    if tables:
        return Source(path, table_files(path, tables, within), others=others)
    if pictures:
        return Source(path, pictures=picture_files(path, pictures), others=others)
    raise DatasetError(f"{path} holds neither tables nor pictures. {WHAT_IS_UNDERSTOOD}")


def files_below(folder: Path) -> Iterator[Path]:
    """In sorted order, hidden ones left out; links to folders are not followed."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                count += 1
                if count > MOST_FILES:
                    raise DatasetError(f"{folder} has more than {MOST_FILES:,} files: split it up.")
                yield Path(place) / name


def table_files(folder: Path, paths: Sequence[Path], within: Sequence[Path]) -> tuple[TableFile, ...]:
    """All of one format; train and test by their names, where both occur."""
    files = [TableFile(each, FORMATS[each.suffix.lower()], part_in_name(each.relative_to(folder))) for each in paths]
    files = [each for each in files if is_data(each.path, within)]
    if not files:
        raise DatasetError(f"{folder} has only files of a cache, and no data. {WHAT_IS_UNDERSTOOD}")
    if other := next((each for each in files if each.format != files[0].format), None):
        raise DatasetError(f"{files[0].name} and {other.name} are of different kinds: give one of them.")
    if {each.part for each in files} >= {"train", "test"}:
        if unclear := next((each for each in files if each.part is None), None):
            raise DatasetError(f"{unclear.name} is neither for training nor for testing by its name: take it away.")
        return tuple(files)
    return tuple(replace(each, part=None) for each in files)


def part_in_name(path: Path) -> Part | None:
    """By the first word of the file's name (train-00000-of-00001.parquet), or else by a folder's name."""
    words = [re.split(r"[-_.]", path.stem.lower())[0], *(each.lower() for each in reversed(path.parent.parts))]
    return next((PARTS[word] for word in words if word in PARTS), None)


def is_data(path: Path, within: Sequence[Path]) -> bool:
    state = path.parent / STATE
    if path.suffix.lower() != ".arrow" or not state.is_file():
        return not path.name.startswith("cache-")
    try:
        with open_bytes(state, within) as file:
            return path.name in {each["filename"] for each in json.load(file)["_data_files"]}
    except (ValueError, KeyError, TypeError):
        raise DatasetError(f"{state} is not what save_to_disk writes: save it again.") from None


def picture_files(folder: Path, paths: Sequence[Path]) -> tuple[PictureFile, ...]:
    """The first folder is the class, or the second where the first are called train and test."""
    names = [each.relative_to(folder) for each in paths]
    if top := next((each for each in names if len(each.parts) == 1), None):
        raise DatasetError(f"{top} lies in no folder of a class. {WHAT_IS_UNDERSTOOD}")
    parts = {each.parts[0]: PARTS.get(each.parts[0].lower()) for each in names}
    if None in parts.values() or "train" not in parts.values():
        return tuple(PictureFile(path, str(each), each.parts[0], None) for path, each in zip(paths, names, strict=True))
    if bare := next((each for each in names if len(each.parts) == 2), None):
        raise DatasetError(f"{bare} lies in no folder of a class below {bare.parts[0]}.")
    has_test = "test" in parts.values()
    return tuple(
        PictureFile(path, str(each), each.parts[1], parts[each.parts[0]] if has_test else None)
        for path, each in zip(paths, names, strict=True)
    )
