"""Names of records and values in the messages between server and clients."""

ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"
SAMPLES, TRAIN_LOSS, STEPS = "num-examples", "train-loss", "steps"
ROUND = "server-round"
OBSERVED = "observed"
"""In place of ARRAYS: a model that the simulation looks at but nobody would send; such a message costs no bytes."""


def task_record(task: str | None, name: str = ARRAYS) -> str:
    """A message that carries several models, or other models than those to other clients, names each by its task."""
    return name if task is None else f"{name}/{task}"


def task_of(record: str) -> str | None:
    return record.removeprefix(f"{ARRAYS}/") if record.startswith(f"{ARRAYS}/") else None
