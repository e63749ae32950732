from __future__ import annotations

from experiments.labels.specs import Fact
from experiments.results.charts.findings import FindingsTable, StrategyFindings, findings_info, provenance_facts


def test_nothing_found_is_nothing_shown_and_the_confusion_matrix_has_its_own_place() -> None:
    assert findings_info({}) == []
    assert findings_info({"confusion": [[1, 0], [0, 1]], "athena": {}}) == []


def test_single_values_are_facts() -> None:
    values = {"eps": 0.123456, "groups": 3, "settled": True, "noise": [4, 7], "empty": [], "unknown": None}
    assert findings_info({"athena": values}) == [
        StrategyFindings(
            "athena",
            (
                Fact("Eps", "0.1235"),
                Fact("Groups", "3"),
                Fact("Settled", "yes"),
                Fact("Noise", "4, 7"),
                Fact("Empty", "none"),
                Fact("Unknown", "–"),
            ),
            (),
        )
    ]


def test_groups_of_clients_are_listed_by_group() -> None:
    sections = findings_info({"athena": {"groups": [[0, 2, 5], [1]]}})
    assert sections[0].tables == (FindingsTable("Groups", ("", "Members"), (("0", "0, 2, 5"), ("1", "1"))),)


def test_matrices_and_records_are_tables() -> None:
    sections = findings_info(
        {
            "x": {
                "similarity": [[1.0, 0.5], [0.5, 1.0]],
                "of_client": {"0": {"group": 1}, "1": {"group": 2, "far": True}},
            }
        }
    )
    assert sections[0].tables == (
        FindingsTable("Similarity", ("", "0", "1"), (("0", "1", "0.5"), ("1", "0.5", "1"))),
        FindingsTable("Of client", ("", "Group", "Far"), (("0", "1", "–"), ("1", "2", "yes"))),
    )


def test_what_is_too_large_is_cut_and_said_so() -> None:
    table = findings_info({"x": {"m": [[0.0] * 30] * 60}})[0].tables[0]
    assert (len(table.rows), len(table.rows[0]), table.left_out) == (50, 16, "10 more rows and 15 more columns")


def test_a_strategy_may_tell_a_bare_list() -> None:
    assert findings_info({"pairs": [[0, 1], [2, 3]]})[0].tables[0].rows == (("0", "0", "1"), ("1", "2", "3"))


def test_provenance_is_told_with_versions_last() -> None:
    values = {
        "engine": "cohort",
        "device": "cpu",
        "device_name": "A CPU",
        "seconds": 12.34,
        "python": "3.11.7",
        "packages": {"torch": "2.13.0", "flwr": "1.41.0"},
        "commit": "abc+",
    }
    assert provenance_facts(values) == [
        Fact("Device", "cpu: A CPU"),
        Fact("Computing time", "12.3 s"),
        Fact("Python", "3.11.7"),
        Fact("Commit", "abc+"),
        Fact("Versions", "torch 2.13.0, flwr 1.41.0"),
    ]
    assert provenance_facts({}) == []
