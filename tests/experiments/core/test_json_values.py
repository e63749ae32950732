"""Text as everything downstream can hold it."""

from __future__ import annotations

import pytest

from experiments.core.json_values import plain_text


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("two\nlines\tand μ é 漢 😀", "two\nlines\tand μ é 漢 😀"),
        ("\x1b[31mred\x07", "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}"),
        ("a\0b\x85c\x7f", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}"),
        ("half \ud83d", "half ?"),
    ],
)
def test_no_terminal_obeys_and_no_xml_breaks_on_what_is_stored(text: str, stored: str) -> None:
    assert plain_text(text) == stored
