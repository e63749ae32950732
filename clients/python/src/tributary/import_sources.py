"""Readers of results that others measured: tables, TensorBoard, MLflow, Flower, Weights & Biases' exported CSV."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tributary.connection import LabError
from tributary.event_files import EventFileError, read_scalars

Row = Mapping[str, Any]
LONG = {"run": "run", "round": "round", "name": "metric", "value": "value"}
MAPPING_KEYS = ("run", "round", "name", "value", "metrics", "config", "seed")
FLOWER_PARTS = {
    "evaluate_metrics_serverapp": "",
    "evaluate_metrics_clientapp": "client_",
    "train_metrics_clientapp": "train_",
    "metrics_centralized": "",
    "metrics_distributed": "client_",
    "metrics_distributed_fit": "train_",
    "losses_centralized": "",
    "losses_distributed": "client_",
}


@dataclass
class SourceRun:
    """One run as its source has it; `name` is unique there."""

    name: str
    rounds: dict[int, dict[str, float]] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    failed: bool = False
    study: str = ""

    def add(self, number: int, metric: str, value: float) -> None:
        self.rounds.setdefault(number, {})[metric] = value


def refusal(message: str) -> LabError:
    return LabError(0, message)


def parse_number(text: Any) -> float | None:
    try:
        return None if text is None or text == "" or isinstance(text, bool) else float(text)
    except (TypeError, ValueError):
        return None


def parse_scalar(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    number = parse_number(text)
    if number is None or not math.isfinite(number):
        return {"true": True, "false": False}.get(text.lower(), text)
    return int(text) if text.strip().lstrip("+-").isdigit() else number


def read_table(path: Path) -> list[dict[str, Any]]:
    if path.suffix.lower() == ".parquet":
        try:
            from pyarrow import parquet
        except ImportError:
            raise refusal("Parquet needs pyarrow: pip install 'tributary-client[imports]', or export as CSV.") from None
        return list(parquet.read_table(path).to_pylist())
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def read_mapping(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    if path.suffix.lower() == ".json":
        mapping = json.loads(text)
    else:
        try:
            import yaml
        except ImportError:
            raise refusal(
                "A YAML mapping needs PyYAML: pip install 'tributary-client[imports]', or write JSON."
            ) from None
        mapping = yaml.safe_load(text)
    if not isinstance(mapping, dict) or set(mapping) - set(MAPPING_KEYS):
        raise refusal(f"{path}: a mapping has the keys {', '.join(MAPPING_KEYS)}.")
    return mapping


def read_tables(path: Path, mapping: Mapping[str, Any] | None = None) -> list[SourceRun]:
    """`mapping` says which column is what; without one the columns are run, round, metric and value, others config."""
    rows = read_table(path)
    heads = list(rows[0]) if rows else []
    if mapping is None:
        if not set(LONG.values()) <= set(heads):
            raise refusal(f"{path}: say with --mapping what its columns are: {', '.join(heads)}.")
        others = [head for head in heads if head not in (*LONG.values(), "study", "cell")]
        mapping = {**LONG, "config": others}
    return mapped_runs(path, rows, heads, mapping)


def mapped_runs(path: Path, rows: Iterable[Row], heads: list[str], mapping: Mapping[str, Any]) -> list[SourceRun]:
    metrics = mapping.get("metrics") or {}
    metrics = metrics if isinstance(metrics, dict) else {each: each for each in metrics}
    config = mapping.get("config") or {}
    config = config if isinstance(config, dict) else {each: each for each in config}
    if "seed" in mapping:
        config = {**config, "seed": mapping["seed"]}
    single = [mapping[key] for key in ("run", "round", "name", "value") if key in mapping]
    unknown = [each for each in (*single, *metrics.values(), *config.values()) if each not in heads]
    if unknown or "round" not in mapping or not (metrics or {"name", "value"} <= set(mapping)):
        missing = (
            f"no column {', '.join(map(str, unknown))}"
            if unknown
            else "a mapping needs round, and metrics or name and value"
        )
        raise refusal(f"{path}: {missing}. Its columns: {', '.join(heads)}.")
    runs: dict[str, SourceRun] = {}
    for line, row in enumerate(rows, start=2):
        name = str(row[mapping["run"]]) if "run" in mapping else path.stem
        run = runs.setdefault(name, SourceRun(name))
        number = parse_number(row[mapping["round"]])
        if number is None or not number.is_integer():
            raise refusal(f"{path}, line {line}: {row[mapping['round']]!r} is no round.")
        for key, column in config.items():
            value = parse_scalar(row[column])
            if value not in (None, "") and run.config.setdefault(key, value) != value:
                raise refusal(f"{path}, line {line}: {key} of run {name} is {value}, and was {run.config[key]}.")
        pairs = [(own, row[column]) for own, column in metrics.items()]
        if "name" in mapping:
            pairs.append((str(row[mapping["name"]]), row[mapping["value"]]))
        for metric, text in pairs:
            value = parse_number(text)
            if value is not None:
                run.add(int(number), metric, value)
            elif text not in (None, ""):
                raise refusal(f"{path}, line {line}: {text!r} is no number.")
    return list(runs.values())


def read_tensorboard(folder: Path) -> list[SourceRun]:
    """A run for each folder that has event files. Of a step that was written twice the last value counts."""
    runs: dict[str, SourceRun] = {}
    for path in sorted(folder.rglob("*tfevents*")):
        inner = path.parent.relative_to(folder).as_posix()
        name = folder.resolve().name if inner == "." else inner
        run = runs.setdefault(name, SourceRun(name))
        try:
            for event in read_scalars(path):
                run.add(event.step, event.tag, event.value)
        except EventFileError as error:
            raise refusal(str(error)) from None
    return list(runs.values())


def read_wandb(path: Path) -> list[SourceRun]:
    """Charts as W&B's page exports them (`Step`, then `RUN - METRIC`), or histories with a column `_step`."""
    runs: dict[str, SourceRun] = {}
    for file in sorted(path.glob("*.csv")) if path.is_dir() else [path]:
        rows = read_table(file)
        heads = list(rows[0]) if rows else []
        if "_step" in heads:
            own = [head for head in heads if not head.startswith("_")]
            for run in mapped_runs(file, rows, heads, {"round": "_step", "metrics": own}):
                runs[run.name] = run
            continue
        charted = [head for head in heads[1:] if " - " in head and not head.endswith(("__MIN", "__MAX"))]
        if not charted:
            raise refusal(f"{file}: neither a chart's export (Step, RUN - METRIC) nor a history with _step.")
        for head in charted:
            name, _, metric = head.rpartition(" - ")
            for run in mapped_runs(file, rows, heads, {"round": heads[0], "metrics": {metric: head}}):
                for number, values in run.rounds.items():
                    runs.setdefault(name, SourceRun(name)).rounds.setdefault(number, {}).update(values)
    return list(runs.values())


def read_flower(path: Path) -> list[SourceRun]:
    """Flower's `History` or `Result` as JSON, one file a run. What clients measured begins with client_ or train_."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return [flower_run(file) for file in files]


def flower_run(file: Path) -> SourceRun:
    content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not set(content) & set(FLOWER_PARTS):
        raise refusal(f"{file}: no History or Result of Flower's; expected one of {', '.join(FLOWER_PARTS)}.")
    run = SourceRun(file.stem, config=dict(content.get("config") or {}))
    for part, prefix in FLOWER_PARTS.items():
        for number, metric, value in flower_values(part, content.get(part) or {}):
            known = metric if metric.startswith(prefix) else prefix + metric
            if (measured := parse_number(value)) is not None:
                run.add(number, known, measured)
    return run


def flower_values(part: str, content: Any) -> Iterator[tuple[int, str, Any]]:
    if part.startswith("losses"):
        yield from ((int(number), "loss", value) for number, value in content)
    elif part.startswith("metrics"):
        for metric, pairs in content.items():
            yield from ((int(number), metric, value) for number, value in pairs)
    else:
        for number, metrics in content.items():
            yield from ((int(number), metric, value) for metric, value in metrics.items())


def mlflow_client(address: str) -> Any:
    try:
        from mlflow import MlflowClient
    except ImportError:
        raise refusal("MLflow's own client is needed: pip install 'tributary-client[mlflow]'.") from None
    return MlflowClient(tracking_uri=address)


def read_mlflow(address: str) -> list[SourceRun]:
    """Every experiment of a store or server, with all steps of every metric, by MLflow's own client."""
    client = mlflow_client(address)
    runs, token = [], None
    studies = {each.experiment_id: each.name for each in pages(client.search_experiments)}
    while studies:
        page = client.search_runs(list(studies), order_by=["attributes.start_time ASC"], page_token=token)
        for each in page:
            name, state = each.info.run_id, each.info.status
            config = {key: parse_scalar(value) for key, value in each.data.params.items()}
            run = SourceRun(name, config=config, failed=state != "FINISHED", study=studies[each.info.experiment_id])
            for metric in each.data.metrics:
                for point in client.get_metric_history(name, metric):
                    run.add(point.step, metric, finite_or_infinite(point.value))
            runs.append(run)
        token = page.token
        if not token:
            break
    return runs


def finite_or_infinite(value: float) -> float:
    """MLflow's databases hold the largest number there is in place of infinity."""
    return math.copysign(math.inf, value) if abs(value) == sys.float_info.max else value


def pages(search: Callable[..., Any]) -> Iterator[Any]:
    page = search()
    while True:
        yield from page
        if not page.token:
            return
        page = search(page_token=page.token)
