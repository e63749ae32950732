"""`tributary mcp` as an agent has it: the SDK's own client, over stdin and stdout, against a lab that runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from tributary import Connection

from experiments.access.services.tokens import token_create
from experiments.models import Study, User
from tests.experiments import lab as numbers

SOURCES = Path(__file__).parents[2] / "clients" / "python" / "src"
TOOLS = [
    *("catalog", "search_studies", "show_study", "compare", "leaderboard", "check_grid"),
    *("launch_study", "stop_study"),
]
GRID = {"name": "By an agent", "blocks": [{**numbers.BLOCK, "rounds": 1}], "requires": "gpu"}


def with_agent(lab: Connection, secret: str, use: Callable[[Client], Awaitable[None]]) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tributary.command_line", "mcp"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCES),
            "TRIBUTARY_URL": lab.login.address,
            "TRIBUTARY_TOKEN": secret,
        },
    )

    async def session() -> None:
        async with Client(server) as client:
            await use(client)

    anyio.run(session)


async def answer_of(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    result = await client.call_tool(tool, arguments)
    return bool(result.is_error), "\n".join(each.text for each in result.content)


@pytest.fixture
def study(researcher: User) -> Study:
    """FedAvg 0.5, 0.5625, 0.625; FedProx 0.6875, 0.75, 0.8125."""
    launched = numbers.launched(researcher)
    for place, run in enumerate(numbers.runs_in_order(launched)):
        numbers.record(run, {"accuracy": [0.1, 0.5 + place / 16]})
    return launched


def test_an_agent_with_a_read_token_reads_compares_and_checks_but_launches_nothing(
    lab: Connection, researcher: User, study: Study
) -> None:
    _, secret = token_create(owner=researcher, name="agent", scope="read")

    async def use(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [each.name for each in tools] == TOOLS
        assert [each.name for each in tools if not each.annotations.read_only_hint] == ["launch_study", "stop_study"]
        assert "| mu | number ≥ 0" in (await answer_of(client, "catalog", name="fedprox"))[1]
        assert f"| {study.pk} | Two strategies | mira | 6 done |" in (await answer_of(client, "search_studies"))[1]

        failed, compared = await answer_of(client, "compare", studies=[study.pk])
        assert not failed
        # Student's t for two degrees of freedom: 4.3027 * 0.0625 / sqrt(3) = 0.1553.
        assert "| FedAvg | 3 | 0.5625 | 0.4072 to 0.7178 | 0 |" in compared
        assert "FedAvg against FedProx (μ = 0.1): FedProx (μ = 0.1) is better (3 seeds)." in compared
        assert "  Caveat: One setting: nothing is said about others." in compared
        assert "  Caveat: Only 3 matching seeds" in compared
        assert "| 1 | FedProx (μ = 0.1) | 3 | 0.75 | 0.0625 | 1 |" in (await answer_of(client, "leaderboard"))[1]

        failed, plan = await answer_of(client, "check_grid", study=GRID)
        assert (failed, plan.partition(". ")[0]) == (False, "6 runs in 2 cells, 0 of them exist already")
        failed, refusal = await answer_of(client, "launch_study", study=GRID)
        assert failed
        assert refusal.endswith(": This token may only read. Make one with the scope write on your own page.")
        assert (await answer_of(client, "stop_study", study=study.pk))[0]

    with_agent(lab, secret, use)
    assert list(Study.objects.all()) == [study]


def test_an_agent_with_a_write_token_launches_and_stops(lab: Connection, researcher: User) -> None:
    wrong = {"name": "x", "blocks": [{**numbers.BLOCK, "strategy": {"name": "fedavgg"}}]}

    async def use(client: Client) -> None:
        failed, problem = await answer_of(client, "launch_study", study=wrong)
        assert failed
        assert "blocks.0.strategy: Unknown name: fedavgg" in problem
        failed, launched = await answer_of(client, "launch_study", study=GRID)
        assert not failed
        assert ": 6 queued. http" in launched
        number = int(launched.removeprefix("Launched study ").partition(":")[0])
        assert await answer_of(client, "stop_study", study=number) == (False, f"Study {number}: 6 cancelled.")

    with_agent(lab, lab.login.token, use)
    assert Study.objects.get().cancelled
