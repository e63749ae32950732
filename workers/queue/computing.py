"""What every process that computes a run has: a pipe for its events, an end with its parent, and a model to write."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from workers.errors import TributaryError

PR_SET_PDEATHSIG = 1
UNUSABLE = (
    "None of the run's checkpoints can be used, and it does not begin anew by itself. Make them readable again and "
    "retry, or retry it from the start."
)
MODEL_FILE = "model.safetensors"


class EventPipe:
    """Events to the parent. The pipe is taken before any library can write into it."""

    def __init__(self) -> None:
        self.stream: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self.lock = Lock()
        os.dup2(2, 1)

    def send(self, event: str, **data: Any) -> None:
        with self.lock:
            self.stream.write(json.dumps({"event": event, **data}) + "\n")
            self.stream.flush()


def die_with_parent(parent: int) -> None:
    """Even a run that hangs in compiled code ends when its parent is killed."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def end_with_parent() -> None:
    """Of a process whose first argument is its parent's number; one that a person started has none."""
    if len(sys.argv) > 1:
        die_with_parent(int(sys.argv[1]))


def save_model(folder: Path, parameters: Mapping[str, Any]) -> str:
    """Whole or absent: written beside its place, then moved into it. Names and shapes are those of `Result`."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    draft, path = folder / f".{MODEL_FILE}", folder / MODEL_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: np.asarray(array, order="C") for name, array in parameters.items()}, draft)
        draft.replace(path)
    except (OSError, SafetensorError) as error:
        raise TributaryError(f"The final model could not be written ({error}). Free some space and retry.") from error
    return str(path)
