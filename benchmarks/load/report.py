"""What the load did, as tables: pure functions from results to Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MARKS = ("<!-- load: written by `make load` -->", "<!-- /load -->")
PAGE_TARGET, CLAIM_TARGET, MEMORY_GROWTH = 0.4, 0.05, 0.1
"""Seconds of a page's p95 and of a claim's p95; the share by which the web server's memory may grow."""


def load_table(results: Mapping[str, Any]) -> str:
    head = ["| page or route | answers | p50 | p95 | errors |", "| --- | ---: | ---: | ---: | ---: |"]
    rows = [address_row(address, each) for address, each in results["addresses"].items()]
    return "\n".join([machine_line(results["machine"]), "", *summary_lines(results), "", *head, *rows])


def machine_line(machine: Mapping[str, Any]) -> str:
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}; others used {machine['busy_before']:.0%} of it before."
    )


def address_row(address: str, measured: Mapping[str, Any]) -> str:
    p50, p95 = seconds_text(measured["p50"]), seconds_text(measured["p95"])
    return f"| `{address}` | {measured['answers']:,} | {p50} | **{p95}** | {measured['errors']} |"


def summary_lines(results: Mapping[str, Any]) -> Iterator[str]:
    written, memory = results["written"], results["memory"]
    runs_taken = " and ".join(f"{runs:,}" for runs in written["runs_by_study"].values()) or "none"
    wanted = results["workers"] * results["rounds_per_second"]
    yield (
        f"- The lab: {results['values']:,} values in {results['studies']:,} studies, {results['runs']:,} runs in the "
        f"largest; filled in {results['fill_seconds']:.0f} s, "
        f"**{results['bytes_a_value']:.0f} bytes a value** with indexes."
    )
    yield (
        f"- For {results['seconds']:.0f} s {results['people']} people read, while {results['workers']} workers wrote "
        f"**{written['rounds_per_second']:.0f}** of {wanted:.0f} rounds a second "
        f"over {written['connections']} connection{'' if written['connections'] == 1 else 's'}; "
        f"{len(written['errors'])} of them failed."
    )
    yield (
        f"- {written['claims']:,} claims, p95 **{seconds_text(written['claim_p95'])}**; runs taken of two people's "
        f"studies: {runs_taken}."
    )
    yield (
        f"- The web server had {memory['at_first']:.0f} MB in the first tenth of that time and "
        f"{memory['at_last']:.0f} MB in the last."
    )


def seconds_text(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1000:.0f} ms"


def missed_targets(results: Mapping[str, Any]) -> Iterator[str]:
    for address, each in results["addresses"].items():
        if each["p95"] is not None and each["p95"] > PAGE_TARGET:
            yield f"{address}: p95 {seconds_text(each['p95'])}, the target is {seconds_text(PAGE_TARGET)}"
        if each["errors"]:
            yield f"{address}: {each['errors']} of {each['answers']} answers were errors"
    written, memory = results["written"], results["memory"]
    if (written["claim_p95"] or 0) > CLAIM_TARGET:
        yield f"claims: p95 {seconds_text(written['claim_p95'])}, the target is {seconds_text(CLAIM_TARGET)}"
    yield from (f"workers: {error}" for error in written["errors"])
    if memory["at_last"] > memory["at_first"] * (1 + MEMORY_GROWTH):
        yield f"memory: from {memory['at_first']:.0f} to {memory['at_last']:.0f} MB"
