"""`tributary`: the lab from a terminal."""

from __future__ import annotations

import argparse
import getpass
import sys
import time
from collections.abc import Sequence
from typing import Any

from tributary.connection import Connection, LabError, Login, connect, store_login
from tributary.definitions import parse_assignment
from tributary.exports import export_mlflow, export_tensorboard
from tributary.imports import KINDS, plan_rows, prepare, read_source, send_all, undo
from tributary.outbox import synchronise
from tributary.studies import Study, launch, progress_text, studies, study

Row = Sequence[Any]
EXPORT_HELP = "tensorboard: PATH is a folder; mlflow: PATH is a tracking store, or a server's address"


def main(arguments: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(arguments)
    try:
        return int(options.call(options) or 0)
    except LabError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (OSError, TimeoutError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tributary", description="A lab's federated-learning experiments.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, call: Any, words: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=words, description=words)
        one.set_defaults(call=call)
        return one

    login = add("login", log_in, "Writes down which lab is meant, with a token of yours.")
    login.add_argument("address", help="such as http://lab:8000")
    login.add_argument("--token", help="asked for if left out")
    start = add("launch", launch_grid, "Launches a grid: tributary launch grid.yaml strategy.mu=0.01,0.1 seeds=5")
    start.add_argument("file", help="a study or a block as YAML")
    start.add_argument("changes", nargs="*", metavar="FIELD=VALUE", help="commas make an axis")
    start.add_argument("--dry-run", action="store_true", help="check, count and estimate only")
    start.add_argument("--wait", action="store_true", help="stay until every run has ended")
    listing = add("list", list_studies, "Studies, the newest first.")
    listing.add_argument("search", nargs="?", help="words to look for")
    listing.add_argument("--most", type=int, default=20)
    for name, call, words in (
        ("show", show_study, "What a study found."),
        ("watch", watch_study, "Follows a study until its last run has ended."),
        ("stop", stop_study, "Cancels what of a study waits or is at work."),
        ("retry", retry_study, "Tries failed and cancelled runs of a study again."),
    ):
        one = add(name, call, words)
        one.add_argument("study", type=int)
        if name == "show":
            one.add_argument("--by", default="", help="fields to group by, as in strategy,partition")
            one.add_argument("--metric", default="accuracy")
    export = add(
        "export", export_study, "Every number of a study as csv, json, ndjson or parquet, by the file's ending."
    )
    export.add_argument("study", type=int)
    export.add_argument("path")
    export.add_argument("--to", choices=("table", "tensorboard", "mlflow"), default="table", help=EXPORT_HELP)
    bring = add("import", import_results, "Results of elsewhere as logged runs: tributary import csv results.csv")
    bring.add_argument("kind", nargs="?", choices=KINDS)
    bring.add_argument("source", nargs="?", help="a file or folder; of MLflow a store or a server's address")
    bring.add_argument("--study", help="its name; otherwise that of the source")
    bring.add_argument("--mapping", help="which column is what, as YAML or JSON; for csv and parquet")
    bring.add_argument("--every", type=int, default=1, metavar="N", help="of very long runs only every N-th round")
    bring.add_argument("--dry-run", action="store_true", help="show what would come, and store nothing")
    bring.add_argument("--undo", metavar="STUDY", help="delete a study of imported runs, by name or number")
    compare = add("compare", compare_studies, "The table that the page Compare has.")
    compare.add_argument("studies", type=int, nargs="+")
    compare.add_argument("--latex", action="store_true")
    compare.add_argument("--metric", default="accuracy")
    add("sync", sync, "Sends what scripts logged while the lab was away.")
    add("mcp", serve_agents, "The lab's tools for an agent, over stdin and stdout (Model Context Protocol).")
    return parser


def log_in(options: argparse.Namespace) -> int:
    token = options.token or getpass.getpass("Token: ")
    login = Login(options.address.rstrip("/"), token.strip())
    Connection(login).get("/studies", limit=1)
    sys.stdout.write(f"Written to {store_login(login)}\n")
    return 0


def launch_grid(options: argparse.Namespace) -> int:
    changes = dict(parse_assignment(each) for each in options.changes)
    answer = launch(options.file, dry_run=options.dry_run, **changes)
    if options.dry_run:
        low, high = answer["estimate"]["low_seconds"], answer["estimate"]["high_seconds"]
        sys.stdout.write(f"{answer['runs']} runs in {answer['cells']} cells, {answer['reused']} exist already.\n")
        sys.stdout.write(f"About {duration(low)} to {duration(high)}.\n")
        return 0
    sys.stdout.write(f"Launched study {answer.id}: {sum(answer.counts.values())} runs. {answer.address}\n")
    return watch(answer) if options.wait else 0


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def list_studies(options: argparse.Namespace) -> int:
    rows: list[Row] = [("study", "name", "runs", "owner")]
    for place, one in enumerate(studies(options.search)):
        if place == options.most:
            break
        rows.append((one.id, one.name, progress_text(one.counts), one.facts.get("owner", "")))
    write_table(rows)
    return 0


def show_study(options: argparse.Namespace) -> int:
    one = study(options.study)
    sys.stdout.write(f"{one.name} · {progress_text(one.counts)} · {one.address}\n")
    answer = one.lab.get(f"/studies/{one.id}/summary", by=options.by or None, metric=options.metric)
    rows = answer["rows"]
    fields = list(rows[0]["group"]) if rows else []
    lines: list[Row] = [(*fields, "round", options.metric, "n")]
    lines += [(*row["group"].values(), row["round"], spread_text(row), row["n"]) for row in rows]
    write_table(lines)
    return 0


def spread_text(row: dict[str, Any]) -> str:
    mean, std = row["mean"], row["std"]
    if not isinstance(mean, int | float):
        return str(mean if mean is not None else "–")
    return f"{mean:.4f} ± {std:.4f}" if isinstance(std, int | float) else f"{mean:.4f}"


def write_table(rows: Sequence[Row]) -> None:
    texts = [[str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        sys.stdout.write(
            "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip() + "\n"
        )


def watch_study(options: argparse.Namespace) -> int:
    return watch(study(options.study))


def watch(one: Study) -> int:
    """Fails where a run did."""
    one.wait(every=1.0)
    return 1 if one.counts.get("failed") or one.counts.get("cancelled") else 0


def stop_study(options: argparse.Namespace) -> int:
    sys.stdout.write(f"{study(options.study).cancel()}\n")
    return 0


def retry_study(options: argparse.Namespace) -> int:
    sys.stdout.write(f"{study(options.study).retry()}\n")
    return 0


def import_results(options: argparse.Namespace) -> int:
    if options.undo:
        sys.stdout.write(f"Study {undo(connect(), options.undo)} is deleted.\n")
        return 0
    if not options.source:
        raise LabError(0, "Say what and where from, as in: tributary import csv results.csv --study NAME --dry-run")
    runs = read_source(options.kind, options.source, options.mapping)
    messages = prepare(runs, options.source, options.study, max(1, options.every))
    if options.dry_run:
        write_table(plan_rows(connect(), messages, options.kind, options.source))
        return 0
    counts = send_all(connect(), messages, options.kind, options.source)
    sys.stdout.write(f"{counts['new']} runs imported, {counts['known']} were there.\n")
    return 0


def export_study(options: argparse.Namespace) -> int:
    began = time.monotonic()
    if options.to == "tensorboard":
        count = export_tensorboard(study(options.study), options.path)
        sys.stdout.write(f"{options.path}: {count} runs in {time.monotonic() - began:.1f} s\n")
        return 0
    if options.to == "mlflow":
        counts = export_mlflow(study(options.study), options.path)
        words = f"{counts['new']} runs written, {counts['known']} were there"
        sys.stdout.write(f"{options.path}: {words}, in {time.monotonic() - began:.1f} s\n")
        return 0
    path = study(options.study).export(options.path)
    sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes in {time.monotonic() - began:.1f} s\n")
    return 0


def compare_studies(options: argparse.Namespace) -> int:
    kind = "tex" if options.latex else "md"
    query = {"study": options.studies, "metric": options.metric}
    sys.stdout.write(connect().send("GET", f"/compare/tables/values.{kind}", query=query).text)
    return 0


def sync(options: argparse.Namespace) -> int:
    sent = 0
    for file, state in synchronise(connect()):
        sent += 1
        sys.stdout.write(f"{file.path.stem[:12]} run {file.run or '–'}: {state}\n")
    if not sent:
        sys.stdout.write("Nothing waits to be sent.\n")
    return 0


def serve_agents(options: argparse.Namespace) -> int:
    from tributary.mcp_server import serve  # the SDK is optional, and other commands need not wait for it

    serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
