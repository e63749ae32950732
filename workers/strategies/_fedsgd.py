from __future__ import annotations

from workers.engine.rule import LocalRule


class OneStep(LocalRule):
    full_batch = True
