"""A named value as pages list them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    name: str
    value: str
    note: str = ""
