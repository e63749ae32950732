"""Measures what has no current result, then writes docs/methods.md and its pictures anew.

python -m benchmarks.methods                     new and changed lines only; all of them take a core half an hour
python -m benchmarks.methods --only attackers    these, if they are new or changed
python -m benchmarks.methods --page              measures nothing

MNIST and Fashion-MNIST are read from TRIBUTARY_HOME: see docs/data.md for how they come there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

from benchmarks.methods.experiments import EXPERIMENTS, Experiment
from benchmarks.methods.measure import Results, is_current, measure_experiment
from benchmarks.publish import RESULTS, ROOT, replace_between_marks
from benchmarks.svg import draw_chart

STORE = RESULTS / "methods.json"
PAGE = ROOT / "docs" / "methods.md"
PICTURES = ROOT / "docs" / "methods"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    results = read_results()
    chosen = [] if options.page else [each for each in EXPERIMENTS if not options.only or each.name in options.only]
    for experiment in chosen:
        if not is_current(experiment, results.get(experiment.name)):
            earlier = results.get(experiment.name)
            results[experiment.name] = measure_experiment(experiment, lambda line: print(line, flush=True), earlier)
            write_results(results)
    written = [write_section(each, results[each.name]) for each in EXPERIMENTS if each.name in results]
    return 0 if all(written) else 1


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[each.name for each in EXPERIMENTS], default=[], metavar="NAME")
    parser.add_argument("--page", action="store_true")
    return parser.parse_args(arguments)


def read_results() -> dict[str, Results]:
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def write_results(results: Mapping[str, Results]) -> None:
    rows = ",\n".join(
        f"{json.dumps(each.name)}: {json.dumps(results[each.name])}" for each in EXPERIMENTS if each.name in results
    )
    STORE.write_text(f"{{\n{rows}\n}}\n")


def write_section(experiment: Experiment, results: Results) -> bool:
    PICTURES.mkdir(exist_ok=True)
    words = {"title": experiment.title, "x": experiment.x, "y": experiment.y}
    chart = {**words, "lines": results["lines"], "log_x": experiment.log_x}
    (PICTURES / f"{experiment.name}.svg").write_text(draw_chart(chart))
    return replace_between_marks(PAGE, section_text(experiment, results), section_marks(experiment.name))


def section_marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by `python -m benchmarks.methods` -->", f"<!-- /{name} -->"


def section_text(experiment: Experiment, results: Results) -> str:
    """The picture, and its numbers: every point of an axis, or the last of a curve with what was sent by then."""
    picture = f"![{experiment.title}](methods/{experiment.name}.svg)"
    heads = [f"{x:g}" for x in experiment.axis] if experiment.axis else ["last"]
    sent = ["MB in all", f"MB to {100 * experiment.target:g} %"] if experiment.over else []
    rows = [
        " | ".join([f"| {label}", *point_texts(points, len(heads)), *sent_texts(experiment, points)])
        for label, points in results["lines"].items()
    ]
    head = f"| accuracy in %, {experiment.seeds} seeds | {' | '.join([*heads, *sent])} |"
    return "\n".join([picture, "", head, f"| --- |{' ---: |' * len([*heads, *sent])}", *(f"{row} |" for row in rows)])


def sent_texts(experiment: Experiment, points: Sequence[Sequence[float]]) -> list[str]:
    """In all, and until the mean of the seeds was at the target for the first time."""
    if not experiment.over:
        return []
    reached = next((x for x, mean, *_ in points if mean >= experiment.target), None)
    return [f"{points[-1][0]:.1f}", "never" if reached is None else f"{reached:.2f}"]


def point_texts(points: Sequence[Sequence[float]], count: int) -> list[str]:
    """A level has two ends, and the same number everywhere."""
    chosen = [*points[-count:], *[points[-1]] * (count - len(points))]
    return [f"{100 * mean:.1f} ± {50 * (high - low):.1f}" for _, mean, low, high in chosen]


if __name__ == "__main__":
    sys.exit(main())
