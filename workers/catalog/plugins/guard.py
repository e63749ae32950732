"""Keeps plugins from loading torch and the like into the web server while their declarations are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType

HEAVY_LIBRARIES = frozenset({"torch", "torchvision", "flwr", "ray"})


class HeavyImportError(ImportError):
    """An ImportError, so that a library which can do without goes on without."""


class HeavyImportGuard(MetaPathFinder):
    """Refuses what is not loaded yet; other threads import as they like."""

    def __init__(self) -> None:
        self.thread = get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        library = fullname.partition(".")[0]
        if library in HEAVY_LIBRARIES and get_ident() == self.thread:
            raise HeavyImportError(f"{library} must not be imported here", name=library)
        return None


@contextmanager
def light_imports_only() -> Iterator[None]:
    guard = HeavyImportGuard()
    sys.meta_path.insert(0, guard)
    try:
        yield
    finally:
        sys.meta_path.remove(guard)
