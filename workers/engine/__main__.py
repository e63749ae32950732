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
from workers.spec import RunSpec, canonical_hash, parse_run
from workers.spec.yaml import read_yaml

DONE, FAILED, WRONG, STOPPED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    try:
        return run_spec(read_spec(options), options)
    except SpecError as error:
        return print_error(error, WRONG)
    except StopRequested as error:
        again = " The same command goes on from there." if options.checkpoint else ""
        return print_error(f"{error}{again}", STOPPED)
    except TributaryError as error:
        return print_error(error, FAILED)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.engine", description="Run one spec, without the platform.")
    parser.add_argument("spec", type=Path, metavar="SPEC.yaml")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: auto)")
    parser.add_argument("--engine", help="auto, cohort, sequential or ray; replaces the spec's")
    parser.add_argument("--rounds", type=int, help="replaces the spec's")
    parser.add_argument("--seed", type=int, help="replaces the spec's")
    parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="save there, and go on from what is there")
    parser.add_argument("--every", type=int, default=10, metavar="N", help="rounds between checkpoints (default: 10)")
    parser.add_argument("--parameters", type=Path, metavar="FILE", help="write the final model there (safetensors)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of text")
    return parser


def read_spec(options: argparse.Namespace) -> RunSpec:
    data = read_yaml(options.spec)
    if not isinstance(data, Mapping):
        raise SpecError([Problem(str(options.spec), "A spec is a mapping of fields.")])
    if "blocks" in data:
        raise SpecError([Problem("blocks", "This is a study of many runs: use `manage.py launch`.")])
    fields = {name: getattr(options, name) for name in ("engine", "rounds", "seed")}
    return parse_run({**data, **{name: value for name, value in fields.items() if value is not None}})


def run_spec(spec: RunSpec, options: argparse.Namespace) -> int:
    from workers.engine.simulation import simulate

    terminal = Terminal(spec.rounds, options.json)
    result = simulate(
        spec,
        on_round=terminal.write_round,
        on_start=lambda engine: terminal.write_event("started", engine=engine),
        checkpoint=checkpoint_policy(spec, options, terminal),
        device=options.device,
        stop=stop_on_signals(),
    )
    report_result(result, options, terminal)
    return DONE


def checkpoint_policy(spec: RunSpec, options: argparse.Namespace, terminal: Terminal) -> Any:
    """A folder with nothing but another run's checkpoints is a mistake, not a place to start afresh."""
    if options.checkpoint is None:
        return None
    from workers.engine.checkpoint import CheckpointPolicy, checkpoints_in, load_newest_checkpoint
    from workers.engine.setup import device_from_name

    def tell_saved(number: int, path: Path) -> None:
        terminal.write_event("checkpoint", round=number, path=str(path))

    policy = CheckpointPolicy(
        options.checkpoint,
        options.every,
        resume=checkpoints_in(options.checkpoint),
        on_saved=tell_saved,
        unusable="No checkpoint can be used; choose another folder.",
    )
    device = device_from_name(options.device).type
    if state := load_newest_checkpoint(policy, canonical_hash(spec), device=device):
        terminal.write_remark(f"Going on after round {state.round}.")
    return policy


def stop_on_signals() -> Callable[[], bool]:
    """The first signal asks the run to stop within one local step; the second one ends it at once."""
    signals: list[int] = []

    def request_stop(number: int, frame: object) -> None:
        signals.append(number)
        signal.signal(number, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, request_stop)
    return lambda: bool(signals)


def report_result(result: Result, options: argparse.Namespace, terminal: Terminal) -> None:
    if options.parameters is not None:
        from safetensors.numpy import save_file

        save_file({name: np.asarray(array, order="C") for name, array in result.parameters.items()}, options.parameters)
    provenance = dict(result.provenance)
    terminal.write_event("done", provenance=provenance, parameters_sha256=model_digest(result.parameters))
    if not options.json:
        terminal.write_remark(
            f"Done in {provenance['seconds']:.1f} s, engine {provenance['engine']}, {provenance['device']}."
        )


def model_digest(parameters: Mapping[str, np.ndarray]) -> str:
    """One SHA-256 over names, types, shapes and values: equal if and only if two models are equal to the bit."""
    total = hashlib.sha256()
    for name, array in sorted(parameters.items()):
        total.update(f"{name} {array.dtype} {array.shape}\n".encode())
        total.update(np.asarray(array, order="C").tobytes())
    return total.hexdigest()


def print_error(error: object, code: int) -> int:
    sys.stderr.write(f"{error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
