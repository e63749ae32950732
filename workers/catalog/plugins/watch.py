"""A lab's own data set that was sound when it was read may fail later: its file went, its server is away.

Pages ask all data sets at once, so none may break them: what was known before is answered instead, the set counts as
not available with the reason, and the problem is told until the same question is answered again.
"""

from __future__ import annotations

from typing import Any

from workers.catalog.component import Dataset
from workers.catalog.plugins.checks import PluginProblem, told
from workers.errors import TributaryError

failing: dict[tuple[str, str], PluginProblem] = {}
"""By data set and question."""


class PluginDataError(TributaryError):
    """A lab's own data set cannot be loaded."""


class Question:
    """A method of a data set, with its last answer in place of a failure."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        self.dataset, self.name = dataset, name
        self.ask = getattr(dataset, name)
        self.last: Any = None

    def __call__(self, *params: Any) -> Any:
        key = (self.dataset.name, self.name)
        try:
            answer = self.ask(*params)
        except (Exception, SystemExit) as error:
            problem = PluginProblem(self.dataset.origin, f"{self.name}() failed. {told(error)}")
            failing[key] = problem
            return self.instead(problem, error)
        failing.pop(key, None)
        return self.answered(answer)

    def instead(self, problem: PluginProblem, error: BaseException) -> Any:
        return self.last

    def answered(self, answer: Any) -> Any:
        self.last = answer
        return answer


class Availability(Question):
    """None while every question is answered; a load that failed may be tried again."""

    def instead(self, problem: PluginProblem, error: BaseException) -> str:
        return f"Mend it first. {problem}"

    def answered(self, answer: Any) -> Any:
        known = failing.copy().items()
        found = [problem for (name, asked), problem in known if name == self.dataset.name and asked != "load"]
        return answer or (f"Mend it first. {found[0]}" if found else None)


class Loading(Question):
    """Data are too large to be remembered."""

    def instead(self, problem: PluginProblem, error: BaseException) -> Any:
        raise PluginDataError(str(problem)) from error

    def answered(self, answer: Any) -> Any:
        return answer


QUESTIONS: dict[str, type[Question]] = {
    "editions": Question,
    "facts": Question,
    "checksum": Question,
    "loads_at_once": Question,
    "available": Availability,
    "load": Loading,
}


def watch(dataset: Dataset) -> Dataset:
    """The data set, its methods watched from now on. What it answers now is remembered."""
    for name, kind in QUESTIONS.items():
        setattr(dataset, name, kind(dataset, name))
    for params in dataset.editions():
        dataset.facts(params)
        dataset.checksum(params)
    return dataset
