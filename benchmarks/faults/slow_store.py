"""A store that takes its time: a folder that fsspec reaches as `slow://`, each request after a pause."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

from fsspec.implementations.local import LocalFileSystem

PROTOCOL = "slow"
LEAST_SECONDS, MOST_SECONDS = 0.1, 0.6
ENTRY_POINTS = f"[fsspec.specs]\n{PROTOCOL} = {__name__}:SlowFileSystem\n"
METADATA = "Metadata-Version: 2.1\nName: slow-store\nVersion: 1\n"


class SlowFileSystem(LocalFileSystem):  # type: ignore[misc]
    protocol = PROTOCOL
    random = Random()

    def __init__(self, **options: Any) -> None:
        super().__init__(auto_mkdir=True, **options)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix(f"{PROTOCOL}://"))

    def pause(self) -> None:
        time.sleep(self.random.uniform(LEAST_SECONDS, MOST_SECONDS))

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **options: Any) -> Any:
        self.pause()
        return super()._open(path, mode, block_size, **options)

    def get_file(self, rpath: str, lpath: str, callback: Any = None, **options: Any) -> None:
        self.pause()
        super().get_file(rpath, lpath, **options)

    def ls(self, path: str, detail: bool = False, **options: Any) -> Any:
        self.pause()
        return super().ls(path, detail=detail, **options)


def declare_protocol(folder: Path) -> Path:
    """On whose PYTHONPATH the folder is, fsspec knows `slow://`, as it would by an installed package."""
    package = folder / "slow_store-1.dist-info"
    package.mkdir(parents=True, exist_ok=True)
    (package / "METADATA").write_text(METADATA)
    (package / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder
