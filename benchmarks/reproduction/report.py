"""What stored runs say, as Markdown and pictures. Pure: equal runs make equal pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.reproduction.charts import cell_label, cell_words, draw_charts
from benchmarks.reproduction.markdown import fold_away, markdown_table, titled_table
from benchmarks.reproduction.measured import Reproduction
from benchmarks.svg import draw_chart
from experiments.presets import wording
from experiments.presets.claims import ClaimResult
from experiments.presets.comparison import ComparisonRow, MeasuredCell
from experiments.presets.preset import ArgMax, Final, Max, Over, Preset
from experiments.presets.readings import read_mean_curve, read_sample
from experiments.presets.verdicts import judge_row
from experiments.statistics.over_seeds import Sample

FOLDER = "reproduction"
SUMMARY_MARKS = ("<!-- verdicts: written by `python -m benchmarks.reproduction` -->", "<!-- /verdicts -->")
STEADY_FROM = 16
GROUPS = "athena.groups"


def preset_marks(preset: str) -> tuple[str, str]:
    return f"<!-- {preset}: written by `python -m benchmarks.reproduction` -->", f"<!-- /{preset} -->"


def summary_table(reproductions: Sequence[Reproduction]) -> str:
    columns = ["study", "runs", "numbers", "agree", "differ", "not compared", "fitted, agree", "claims, hold"]
    rows = [summary_row(each) for each in reproductions]
    return markdown_table(columns, rows, words=1)


def summary_row(reproduction: Reproduction) -> list[str]:
    counts, tested = reproduction.counts, [each for each in reproduction.claims if each.p is not None]
    holding = sum(each.outcome == "holds" for each in tested)
    return [
        f"`{reproduction.preset.name}`",
        f"{len(reproduction.runs):,}",
        str(counts.total),
        f"**{counts.agree}**",
        str(counts.differ),
        str(counts.not_compared),
        f"{counts.fitted_agree} of {counts.fitted}" if counts.fitted else "–",
        f"{holding} of {len(tested)}" if tested else "–",
    ]


def preset_section(reproduction: Reproduction) -> str:
    charts = named_charts(reproduction)
    blocks = [
        f"**{reproduction.counts.text}.**",
        runs_text(reproduction),
        *(f"![{chart['title']}]({FOLDER}/{name})" for name, chart in charts),
        claims_block(reproduction.claims),
        *comparison_blocks(reproduction),
        settings_block(reproduction.preset),
        groups_block(reproduction.cells),
        cells_block(reproduction.cells),
    ]
    return "\n\n".join(block for block in blocks if block)


def named_charts(reproduction: Reproduction) -> list[tuple[str, dict[str, Any]]]:
    charts = draw_charts(reproduction.preset, reproduction.cells)
    return [(f"{reproduction.preset.name}-{place}.svg", chart) for place, chart in enumerate(charts, start=1)]


def chart_files(reproduction: Reproduction) -> dict[str, str]:
    return {name: draw_chart(chart) for name, chart in named_charts(reproduction)}


def runs_text(reproduction: Reproduction) -> str:
    """What the section is made of, and what it took."""
    runs = reproduction.runs
    versions = ", ".join(map(str, sorted({run.engine_version for run in runs})))
    machines = sorted({str(run.provenance.get("cpu") or run.device_type) for run in runs})
    seconds = sum(float(run.provenance.get("seconds") or 0.0) for run in runs)
    took = f"{seconds / 3600:.1f} hours" if seconds > 3600 else f"{seconds / 60:.0f} minutes"
    seeds = Counter(len(cell.seeds) for cell in reproduction.cells)
    spread = ", ".join(
        f"{cells} with {count} seed{'' if count == 1 else 's'}" for count, cells in sorted(seeds.items())
    )
    return (
        f"{len(runs):,} stored runs in {len(reproduction.cells):,} cells ({spread}), version {versions} of the engine, "
        f"{took} of computing on {' and '.join(machines)}."
    )


def claims_block(claims: Sequence[ClaimResult]) -> str:
    tested = [each for each in claims if each.p is not None]
    if not tested:
        return ""
    rows = [[each.claim.text, each.outcome, wording.claim_text(each)] for each in tested]
    left = len(claims) - len(tested)
    note = f"\n\n{left} more {'is' if left == 1 else 'are'} not tested: their runs are not stored." if left else ""
    return f"**What the study says, tested**\n\n{markdown_table(['claim', 'outcome', 'how sure'], rows, words=3)}{note}"


def comparison_blocks(reproduction: Reproduction) -> list[str]:
    """The printed numbers that have a counterpart with their verdicts, and why the others have none."""
    columns = ["cell", "number", "verdict", "published", "measured [95 %]", "n", "difference"]
    compared = [row for row in reproduction.rows if row.mean is not None]
    rows = [comparison_cells(reproduction.preset, row) for row in compared]
    judged = [judge_row(reproduction.preset, row) for row in reproduction.rows]
    reasons = Counter(each.why for each in judged if each.verdict == "not compared")
    lines = [f"- {count} not compared: {reason}" for reason, count in reasons.most_common()]
    table = titled_table("Published beside measured", markdown_table(columns, rows, words=3), len(rows)) if rows else ""
    differing = {
        judge_row(reproduction.preset, row).why
        for row in compared
        if not row.published.repeated and judge_row(reproduction.preset, row).verdict == "differs"
    }
    whys = [f"- differs: {why}" for why in sorted(differing)]
    return [table, "\n".join([*whys, *lines])]


def comparison_cells(preset: Preset, row: ComparisonRow) -> list[str]:
    published, judgement = row.published, judge_row(preset, row)
    mark = " (fitted)" if published.fitted else " (read again)" if published.repeated else ""
    unit = wording.unit_text(published)
    difference = "–" if row.difference is None else f"{row.difference:+.2f}"
    values = [f"{wording.published_text(published)} {unit}".strip(), f"{wording.measured_text(row)} {unit}".strip()]
    about, what = wording.match_text(published.match), wording.quantity_text(published)
    return [about, what, f"{judgement.verdict}{mark}", *values, str(row.n), difference]


def settings_block(preset: Preset) -> str:
    if not preset.settings:
        return ""
    rows = [[each.name, "<br>".join(each.tried), each.chosen] for each in preset.settings]
    return (
        f"**Settings that the study does not state**\n\n{markdown_table(['setting', 'tried', 'taken'], rows, words=3)}"
    )


def groups_block(cells: Sequence[MeasuredCell]) -> str:
    """Groups found before training, seed by seed."""
    words = cell_words(cells)
    found = {
        place: {seed: runs[0][GROUPS][0] for seed, runs in cell.seeds.items() if runs and GROUPS in runs[0]}
        for place, cell in enumerate(cells)
    }
    rows = [
        [cell_label(words, place) or "all", ", ".join(f"{groups[seed]:g}" for seed in sorted(groups)), str(len(groups))]
        for place, groups in found.items()
        if groups
    ]
    if not rows:
        return ""
    return titled_table("Groups found, by seed", markdown_table(["cell", "groups", "n"], rows, words=2), len(rows))


def cells_block(cells: Sequence[MeasuredCell]) -> str:
    words = cell_words(cells)
    columns = ["cell", "n", "rounds", "final, %", "best of the mean curve, %", "variance from round 16, %²"]
    rows = [[cell_label(words, place) or "all", *cell_values(cell)] for place, cell in enumerate(cells)]
    return fold_away("Every cell", markdown_table(columns, rows, words=1)) if rows else ""


def cell_values(cell: MeasuredCell) -> list[str]:
    rounds = last_round(cell)
    final = read_sample(Final(take="final"), cell.seeds, 100.0)
    best, at = (read_mean_curve(reading, cell.seeds) for reading in (Max(take="max"), ArgMax(take="argmax")))
    steady = read_sample(Over(take="variance", first=STEADY_FROM, last=rounds), cell.seeds, 1e4)
    best_text = "–" if best is None or at is None else f"{100 * best:.2f} in {at:.0f}"
    return [str(len(cell.seeds)), str(rounds), sample_text(final), best_text, sample_text(steady)]


def last_round(cell: MeasuredCell) -> int:
    return max((max(curves.get("accuracy", {0: 0.0})) for runs in cell.seeds.values() for curves in runs), default=0)


def sample_text(sample: Sample) -> str:
    if sample.mean is None:
        return "–"
    return f"{sample.mean:.2f}" if sample.std is None else f"{sample.mean:.2f} ± {sample.std:.2f}"


def verdict_counts(reproductions: Sequence[Reproduction]) -> Mapping[str, Mapping[str, int]]:
    """As the presets' pages and cards read them."""
    return {each.preset.name: vars(each.counts) for each in reproductions}
