"""The engine: `from workers.engine import simulate`. Torch and Flower are imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workers.engine.simulation import simulate

__all__ = ["simulate"]


def __getattr__(name: str) -> Any:
    if name == "simulate":
        from workers.engine.simulation import simulate

        return simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
