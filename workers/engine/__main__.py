"""`python -m workers.engine SPEC.yaml`: one run from a file, without the platform.

Exit codes: 0 done, 1 the run failed, 2 the spec or an argument is wrong, 130 stopped by Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workers.engine.records import Result
from workers.engine.terminal import Terminal
from workers.errors import Problem, SpecError, StopRequested, TributaryError
from workers.quiet import hush
from workers.spec import RunSpec, canonical_hash, parse_run
from workers.spec.yaml import read_yaml

DONE, FAILED, WRONG, STOPPED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    hush()
    try:
        return run(read_spec(given), given)
    except SpecError as error:
        return complain(error, WRONG)
    except StopRequested as error:
        again = " The same command goes on from there." if given.checkpoint else ""
        return complain(f"{error}{again}", STOPPED)
    except TributaryError as error:
        return complain(error, FAILED)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m workers.engine", description="Run one spec, without the platform.")
    made.add_argument("spec", type=Path, metavar="SPEC.yaml")
    made.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: auto)")
    made.add_argument("--engine", help="auto, cohort, sequential or ray; replaces the spec's")
    made.add_argument("--rounds", type=int, help="replaces the spec's")
    made.add_argument("--seed", type=int, help="replaces the spec's")
    made.add_argument("--checkpoint", type=Path, metavar="DIR", help="save there, and go on from what is there")
    made.add_argument("--every", type=int, default=10, metavar="N", help="rounds between checkpoints (default: 10)")
    made.add_argument("--parameters", type=Path, metavar="FILE", help="write the final model there (safetensors)")
    made.add_argument("--json", action="store_true", help="one JSON object a line instead of text")
    return made


def read_spec(given: argparse.Namespace) -> RunSpec:
    data = read_yaml(given.spec)
    if not isinstance(data, Mapping):
        raise SpecError([Problem(str(given.spec), "A spec is a mapping of fields.")])
    if "blocks" in data:
        raise SpecError([Problem("blocks", "This is a study of many runs: use `manage.py launch`.")])
    replaced = {name: getattr(given, name) for name in ("engine", "rounds", "seed") if getattr(given, name) is not None}
    return parse_run({**data, **replaced})


def run(spec: RunSpec, given: argparse.Namespace) -> int:
    from workers.engine.simulation import simulate

    terminal = Terminal(spec.rounds, given.json)
    result = simulate(
        spec,
        on_round=terminal.round,
        on_start=lambda engine: terminal.event("started", engine=engine),
        checkpoint=policy(spec, given, terminal),
        device=given.device,
        stop=stop_on_signals(),
    )
    finish(result, given, terminal)
    return DONE


def policy(spec: RunSpec, given: argparse.Namespace, terminal: Terminal) -> Any:
    """Strict: a folder with nothing but another run's checkpoints is a mistake, not a place to start afresh."""
    if given.checkpoint is None:
        return None
    from workers.engine.checkpoint import CheckpointPolicy, checkpoints_in, load_newest

    def saved(number: int, path: Path) -> None:
        terminal.event("checkpoint", round=number, path=str(path))

    made = CheckpointPolicy(given.checkpoint, given.every, resume=checkpoints_in(given.checkpoint), on_saved=saved)
    if found := load_newest(made, canonical_hash(spec), strict=True):
        terminal.remark(f"Going on after round {found.round}.")
    return made


def stop_on_signals() -> Callable[[], bool]:
    """The first signal asks the run to stop within one local step; the second one ends it at once."""
    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        asked.append(number)
        signal.signal(number, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    return lambda: bool(asked)


def finish(result: Result, given: argparse.Namespace, terminal: Terminal) -> None:
    if given.parameters is not None:
        from safetensors.numpy import save_file

        save_file({name: np.asarray(array, order="C") for name, array in result.parameters.items()}, given.parameters)
    provenance = dict(result.provenance)
    terminal.event("done", provenance=provenance, parameters_sha256=digest(result.parameters))
    if not given.json:
        terminal.remark(
            f"Done in {provenance['seconds']:.1f} s, engine {provenance['engine']}, {provenance['device']}."
        )


def digest(parameters: Mapping[str, np.ndarray]) -> str:
    """One SHA-256 over names, types, shapes and values: equal if and only if two models are equal to the bit."""
    total = hashlib.sha256()
    for name, array in sorted(parameters.items()):
        total.update(f"{name} {array.dtype} {array.shape}\n".encode())
        total.update(np.asarray(array, order="C").tobytes())
    return total.hexdigest()


def complain(error: object, code: int) -> int:
    sys.stderr.write(f"{error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
