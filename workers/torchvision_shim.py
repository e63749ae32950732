"""torchvision beside any build of torch.

The torchvision wheel may be a CUDA build whose compiled operators cannot load with a CPU torch; its import then dies
with "operator torchvision::nms does not exist", although data sets, transforms and classification models need none of
them. Declaring the two operators that the import asks for is enough. Where they load, this does nothing.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.library import Library

SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

import_lock = Lock()


def import_torchvision() -> ModuleType:
    """By one thread at a time: clients are trained on several, and operators can be declared once."""
    with import_lock:
        return import_with_operators()


@cache
def import_with_operators() -> ModuleType:
    if not operators_load():
        declare_operators()
    return importlib.import_module("torchvision")


def operators_load() -> bool:
    import torch

    spec = find_spec("torchvision")
    folders = spec.submodule_search_locations or [] if spec else []
    try:
        for library in (path for folder in folders for path in Path(folder).glob("_C*.so")):
            torch.ops.load_library(library)  # type: ignore[no-untyped-call]
    except OSError:
        return False
    return hasattr(torch.ops.torchvision, "nms")


@cache
def declare_operators() -> Library:
    """Kept for the life of the process: operators vanish with their library object."""
    from torch.library import Library

    library = Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):
        library.define(name + SCHEMA)  # type: ignore[no-untyped-call]
    return library
