"""Importing for tests: what was stored, and why it was not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from workers.catalog import load_catalog
from workers.catalog.component import Arrays
from workers.data_import.options import ImportOptions
from workers.data_import.plan import Preview
from workers.datasets import _cache
from workers.datasets.own import Own
from workers.errors import DatasetError


def own() -> Own:
    dataset = load_catalog().datasets["own"]
    assert isinstance(dataset, Own)
    return dataset


def import_own(path: Path, **options: Any) -> tuple[Arrays, _cache.Manifest]:
    ((name, manifest),) = own().import_path(str(path), options=ImportOptions(**options)).items()
    return own().load(own().Params(set=name.removeprefix("own-"))), manifest


def preview(path: Path, **options: Any) -> Preview:
    return own().preview(str(path), ImportOptions(**options))


def refusal(path: Path, **options: Any) -> str:
    """Why it is not imported; nothing is left of the attempt."""
    with pytest.raises(DatasetError) as caught:
        own().import_path(str(path), options=ImportOptions(**options))
    assert own().editions() == []
    return caught.value.detail


def write_text(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def write_picture(path: Path, pixels: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.array(pixels, np.uint8)).save(path)
    return path
