"""What a caption says about the runs behind a figure."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from functools import cache

from experiments.models import Run
from experiments.papers.captions import PaperSource
from workers.catalog import load_catalog
from workers.home import ROOT


def paper_source(*, runs: Collection[int], link: str) -> PaperSource:
    rows = Run.objects.filter(pk__in=runs).values_list(
        "spec__dataset__name", "spec__app__name", "provenance__engine_version"
    )
    distinct = list(rows.order_by().distinct())
    known = load_catalog().datasets
    names = {known[data].label if data in known else str(data or app) for data, app, _ in distinct if data or app}
    engines = {version for _, _, version in distinct if isinstance(version, int)}
    return PaperSource(tuple(sorted(names)), tuple(sorted(engines)), platform_version(), link)


@cache
def platform_version() -> str:
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return version
