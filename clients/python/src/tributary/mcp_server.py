"""`tributary mcp`: the lab's tools for agents, over stdin and stdout, with the Model Context Protocol's own SDK.

Every tool is one or two REST requests with the person's token: what it may do, its limits and its refusals are the
lab's. Answers are small tables, cut with a word about what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, ParamSpec

from tributary.connection import Connection, LabError, connect

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations
except ImportError:
    raise LabError(0, "This needs the MCP SDK: pip install 'tributary-client[mcp]'.") from None

Parameters = ParamSpec("Parameters")
MOST_ROWS = 40
INSTRUCTIONS = (
    "A lab's federated-learning experiments. A study is a grid of runs; runs that differ only in seed are a cell. "
    "Call check_grid before launch_study, and say how many runs and how much time it would take. "
    "Repeat every caveat of a verdict; where seeds are too few, say so instead of naming a winner."
)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
LAUNCHES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
STOPS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def serve() -> None:
    make_server(connect()).run("stdio")


def make_server(lab: Connection) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("tributary", instructions=INSTRUCTIONS, log_level="WARNING")
    tools = LabTools(lab)
    for call in (
        tools.catalog,
        tools.search_studies,
        tools.show_study,
        tools.compare,
        tools.leaderboard,
        tools.check_grid,
    ):
        server.tool(annotations=READS)(explain_refusal(call))
    server.tool(annotations=LAUNCHES)(explain_refusal(tools.launch_study))
    server.tool(annotations=STOPS)(explain_refusal(tools.stop_study))
    return server


def explain_refusal(call: Callable[Parameters, str]) -> Callable[Parameters, str]:
    @wraps(call)
    def tool(*values: Parameters.args, **named: Parameters.kwargs) -> str:
        try:
            return call(*values, **named)
        except LabError as error:
            raise ToolError(str(error)) from error

    return tool


class LabTools:
    def __init__(self, lab: Connection) -> None:
        self.lab = lab

    def catalog(self, kind: str = "strategy", name: str = "") -> str:
        """What can be launched. `kind` is dataset, model, partition, strategy or optimizer; with `name` the parameters
        of that one, with their types, bounds and defaults."""
        components = self.lab.get("/catalog")
        if kind not in components:
            raise LabError(0, f"There is no kind {kind}: choose one of {', '.join(components)}.")
        if not name:
            listed = [(each["name"], each["label"], each["summary"]) for each in components[kind]]
            return table(("name", "label", "what it does"), listed, most=len(listed))
        one = next((each for each in components[kind] if each["name"] == name), None)
        if one is None:
            raise LabError(0, f"There is no {kind} {name}: ask for the list without a name.")
        fields = one["schema"].get("properties", {})
        rows = [
            (key, parameter_type(each), each.get("default"), each.get("description")) for key, each in fields.items()
        ]
        head = f"{one['label']} ({name}): {one['summary']} {one['paper']}".strip()
        return f"{head}\n\n{table(('parameter', 'type', 'default', 'meaning'), rows)}"

    def search_studies(self, words: str = "", limit: int = 20) -> str:
        """Studies, the newest first: those with the words in name, description, tags, owner or blocks."""
        answer = self.lab.get("/studies", search=words or None, limit=max(1, min(limit, MOST_ROWS)))
        rows = [
            (each["id"], each["name"], each["owner"], state_counts(each["counts"]), ", ".join(each["tags"]))
            for each in answer["items"]
        ]
        found = f"{answer['count']} studies, {len(rows)} shown"
        return f"{table(('study', 'name', 'owner', 'runs', 'tags'), rows)}\n\n{found}."

    def show_study(self, study: int, metric: str = "accuracy") -> str:
        """One study: its state, and the last value of a metric for each cell: n seeds, mean and 95 % interval."""
        facts = self.lab.get(f"/studies/{study}")
        head = f"Study {facts['id']}: {facts['name']} ({facts['owner']}). Runs: {state_counts(facts['counts'])}."
        answer = self.lab.get("/compare/verdicts", study=study, metric=metric)
        return f"{head}\n\n{cell_table(answer, metric)}"

    def compare(
        self, studies: list[int], metric: str = "accuracy", compared: str = "", only: list[str] | None = None
    ) -> str:
        """Is one better than another? The cells of one or several studies with n, mean and 95 % interval, and a verdict
        for every two values of `compared` (an axis such as strategy or partition.alpha; strategy unless given), over
        matching seeds. `only` keeps values of an axis, as in ["strategy:fedavg", "strategy:fedprox"]. Repeat a
        verdict's caveats with it."""
        query = {"study": studies, "metric": metric, "only": only or [], "compared": compared or None}
        answer = self.lab.request("GET", "/compare/verdicts", query=query)
        verdicts = [
            f"{each['first']} against {each['second']}: {each['verdict']} "
            f"(settings: {each['settings']}, better in {each['better']}, worse in {each['worse']}, "
            f"ties {each['ties']}; matching seeds: {each['seeds']})\n"
            + "\n".join(f"  Caveat: {caveat}" for caveat in each["caveats"])
            for each in answer["verdicts"][:MOST_ROWS]
        ]
        hidden = len(answer["verdicts"]) - len(verdicts)
        if hidden:
            verdicts.append(f"{hidden} pairs more are not shown: narrow it with `only`.")
        words = "\n".join(verdicts) or f"There are no two values of {answer['compared'] or 'an axis'} to compare."
        return f"{cell_table(answer, metric)}\n\n{answer['metric']}\n{words}\n{answer['overall']}"

    def leaderboard(self, dataset: str = "", partition: str = "", metric: str = "accuracy") -> str:
        """The best cell of every strategy on a data set and partition, among comparable ones only."""
        board = self.lab.get("/leaderboard", dataset=dataset, partition=partition, metric=metric)
        rows = [
            (
                each["rank"] or "–",
                each["label"],
                each["n"],
                number(each["mean"]),
                number(each["std"]),
                each["cells"],
                each["study"],
            )
            for each in board["rows"]
        ]
        head = f"{board['dataset']}, {board['partition']}: {', '.join(board['comparable'].values())}"
        left = [f"Left out: {each['cells']} cells ({'; '.join(each['reasons'])})." for each in board["left_out"]]
        caveat = (
            "Caveat: the best of many cells is a little lucky; no rank below three seeds; "
            "a rank is no test: use compare for one."
        )
        shown = table(("rank", "strategy", "n", "mean", "std", "best of cells", "study"), rows)
        return "\n".join([head, "", shown, "", *left, caveat])

    def check_grid(self, study: dict[str, Any]) -> str:
        """Checks a study without launching it: {"name": ..., "blocks": [{"dataset": {"name": "digits"}, "model":
        {"name": "mlp-50"}, "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.01, 0.1]}], "clients": 10,
        "rounds": 20, "seeds": 5}]}. Lists are axes. Says how many runs it is and how long they take, or every problem
        with its place."""
        plan = self.lab.post("/studies", study, dry_run=True)
        low, high = plan["estimate"]["low_seconds"], plan["estimate"]["high_seconds"]
        return (
            f"{plan['runs']} runs in {plan['cells']} cells, {plan['reused']} of them exist already. "
            f"About {low:.0f} to {high:.0f} seconds of this lab's workers. Nothing was launched."
        )

    def launch_study(self, study: dict[str, Any]) -> str:
        """Launches a study, as check_grid takes it. Needs a token with the scope write."""
        facts = self.lab.post("/studies", study)
        address = f"{self.lab.login.address}/studies/{facts['id']}"
        return f"Launched study {facts['id']}: {state_counts(facts['counts'])}. {address}"

    def stop_study(self, study: int) -> str:
        """Cancels what of a study waits or is at work; what is done stays. Needs a token with the scope write."""
        self.lab.post(f"/studies/{study}/cancel")
        return f"Study {study}: {state_counts(self.lab.get(f'/studies/{study}')['counts'])}."


def cell_table(answer: dict[str, Any], metric: str) -> str:
    cells = answer["cells"]
    axes = list(cells[0]["axes"]) if cells else []
    rows = [
        (
            *each["axes"].values(),
            each["n"],
            number(each["mean"]),
            interval(each["low"], each["high"]),
            each["lost"] + each["missed"],
        )
        for each in cells
    ]
    return table((*axes, "n", metric, "95 % interval", "lost seeds"), rows)


def parameter_type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    kind = schema.get("type") or " | ".join(str(each.get("type", "")) for each in schema.get("anyOf", []))
    bounds = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    return " ".join([str(kind), *(f"{sign} {schema[word]}" for word, sign in bounds.items() if word in schema)])


def state_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "none"


def number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else "–" if value is None else str(value)


def interval(low: Any, high: Any) -> str:
    return "–" if low is None or high is None else f"{number(low)} to {number(high)}"


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], most: int = MOST_ROWS) -> str:
    """Markdown; what is beyond the limit is counted below it."""
    every = [[cell_text(value) for value in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in [list(heads), ["---"] * len(heads), *every[:most]]]
    more = [f"{len(every) - most} more rows are not shown: ask for less."] if len(every) > most else []
    return "\n".join([*lines, *more])


def cell_text(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split()).replace("|", "\\|")
