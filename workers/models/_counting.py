"""How many parameters a model has that does not say it: what its `build()` makes is counted, in a process with torch.

`python -m workers.models._counting` answers on standard output what it is asked on standard input. Answers are kept
below `TRIBUTARY_HOME`, by the content of the model's file, so that pages wait for each of them once.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import subprocess
import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workers.child_environment import environment_without_secrets
from workers.home import ROOT, home

if TYPE_CHECKING:
    from workers.catalog.component import Model, Shape

logger = logging.getLogger(__name__)
PATIENCE_SECONDS = 60
UNKNOWN = 0
"""Of a model that cannot be built: its run will say why."""


known_counts: dict[str, int] = {}


def counts_itself(model: Model) -> bool:
    from workers.catalog.component import Model as AnyModel

    return type(model).parameter_count is not AnyModel.parameter_count


def can_count() -> bool:
    """Whether there is torch to count with."""
    return "torch" in sys.modules or PathFinder.find_spec("torch") is not None


def counted_parameters(model: Model, shape: Shape, classes: int, params: Any) -> int:
    """From the disk, from this process if it has torch anyway, or from another one."""
    asked = {"params": {**params.model_dump(mode="json"), "name": model.name}, "shape": list(shape), "classes": classes}
    question = json.dumps(asked, sort_keys=True)
    key = hashlib.sha256(f"{model.digest} {question}".encode()).hexdigest()[:24]
    if key not in known_counts:
        file = home() / "model-sizes" / f"{key}.txt"
        known_counts[key] = read(file) or (
            built_count(model, shape, classes, params) if "torch" in sys.modules else ask(question, model.digest)
        )
        keep(file, known_counts[key])
    return known_counts[key]


def read(file: Path) -> int:
    with suppress(OSError, ValueError):
        return int(file.read_text(encoding="utf-8"))
    return UNKNOWN


def keep(file: Path, count: int) -> None:
    with suppress(OSError):
        if count != UNKNOWN and not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(str(count), encoding="utf-8")


def built_count(model: Model, shape: Shape, classes: int, params: Any) -> int:
    """Without memory for the parameters where the model can do without. Pages import this file: it loads no torch."""
    torch = sys.modules["torch"]
    for device in ("meta", "cpu"):
        try:
            with torch.random.fork_rng(devices=[]), torch.device(device):
                module = model.build(shape, classes, params)
            return sum(each.numel() for each in module.parameters())
        except Exception as error:
            logger.warning("%s could not be built on %s: %s", model.name, device, error)
    return UNKNOWN


def ask(question: str, digest: str) -> int:
    """In a process of its own, which has no secrets and is ended if it takes too long. It may read a newer file."""
    try:
        process = subprocess.run(
            [sys.executable, "-m", "workers.models._counting"],
            input=question,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            cwd=ROOT,
            env=environment_without_secrets(),
            check=True,
        )
        seen, count = json.loads(process.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        logger.warning("The parameters of a model could not be counted (%s): %s", question, error)
        return UNKNOWN
    return int(count) if seen == digest else UNKNOWN


def answer(question: str) -> tuple[str, int]:
    """The digest of the file that was read, and the count."""
    from workers.catalog import load_catalog

    asked = json.loads(question)
    model = load_catalog().models[asked["params"]["name"]]
    params = model.Params.model_validate_json(json.dumps(asked["params"]))
    return model.digest, built_count(model, tuple(asked["shape"]), asked["classes"], params)


if __name__ == "__main__":
    importlib.import_module("torch")
    sys.stdout.write(f"{json.dumps(answer(sys.stdin.read()))}\n")
