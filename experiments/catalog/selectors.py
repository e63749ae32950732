"""What is wrong with a lab's own components, in the words of whoever found it: this process, or a living worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.models import Worker
from experiments.queue.selectors.workers import living
from workers.catalog import Catalog, load_catalog

HERE = "web server"
LACKING = "is not on this worker: copy its file there, then start the worker again."
BEYOND = "is not on the web server: copy its file there, then start it again."
OTHER = "has other code than on the web server: copy its file, then start both again."
Told = dict[str, list[str]]
"""By problem, who has it."""


def component_problems(workers: Iterable[Worker] | None = None, catalog: Catalog | None = None) -> Told:
    known = catalog or load_catalog()
    found: Told = {str(problem): [HERE] for problem in known.problems}
    for worker in living() if workers is None else workers:
        for problem in [*worker.facts.get("problems", ()), *differences(worker.facts, known)]:
            found.setdefault(str(problem), []).append(worker.name)
    return found


def differences(facts: Mapping[str, Any], known: Catalog) -> list[str]:
    """Components that the worker lacks or has otherwise: a run must not depend on who computes it."""
    here, there = known.own_stamps, facts.get("plugins", {})
    told = {
        **dict.fromkeys(here.keys() - there.keys(), LACKING),
        **dict.fromkeys(there.keys() - here.keys(), BEYOND),
        **{name: OTHER for name in here.keys() & there.keys() if here[name] != there[name]},
    }
    return [f"The {name} {told[name]}" for name in sorted(told)]
