"""Notes and documentation as HTML: what Markdown says is shown, and nothing that a writer puts in can do harm."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from experiments.web.markdown import Section, render_document, render_note


class Tags(HTMLParser):
    """The elements a browser would make, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_note_has_its_emphasis_lists_code_and_tables() -> None:
    assert render_note("**95.75** with *5* seeds\n\n- `lr` 0.1\n") == (
        "<p><strong>95.75</strong> with <em>5</em> seeds</p>\n<ul>\n<li><code>lr</code> 0.1</li>\n</ul>\n"
    )
    table = render_note("| a | b |\n| - | -: |\n| 1 | 2 |\n")
    assert table.startswith('<div class="table-box"><table>\n<thead>')
    assert table.endswith("</tbody>\n</table></div>\n")


def test_headings_of_a_note_stay_below_those_of_its_page() -> None:
    assert render_note("# One\n\n##### Five") == "<h3>One</h3>\n<h6>Five</h6>\n"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](java&#10;script:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](data:image/svg+xml;base64,PHN2Zz4=)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        '[x](/ok "\\" onmouseover=alert(1)")',
        "[x]: javascript:alert(1)\n\n[x]",
        '```"><script>\nx\n```',
    ],
)
def test_nothing_that_a_person_writes_becomes_a_script(text: str) -> None:
    tags = Tags(render_note(text)).tags
    assert {name for name, _ in tags} <= {"p", "a", "pre", "code"}
    assert {key for _, attributes in tags for key in attributes} <= {"href", "title", "class", "rel"}
    assert {attributes.get("href", "/ok") for _, attributes in tags} == {"/ok"}


def test_links_lead_out_without_telling_and_pictures_are_links() -> None:
    assert render_note("[a paper](https://example.org/?a=1&b=2), [a run](/runs/7)") == (
        '<p><a href="https://example.org/?a=1&amp;b=2" rel="noopener nofollow">a paper</a>, '
        '<a href="/runs/7">a run</a></p>\n'
    )
    assert render_note("![a plot](https://example.org/plot.png)") == (
        '<p><a href="https://example.org/plot.png" rel="noopener nofollow">a plot</a></p>\n'
    )


def test_a_document_has_a_title_anchors_own_links_and_no_comments() -> None:
    question = "## Better, or not?\n\n"
    text = f"# Compare\n\n<!-- results: written -->\n{question}![p](pictures/a.png) [x](api.md#live)\n\n{question}"
    document = render_document(text, lambda link: f"/docs/{link}")
    assert document.title == "Compare"
    assert document.sections == (
        Section(1, "compare", "Compare"),
        Section(2, "better-or-not", "Better, or not?"),
        Section(2, "better-or-not-1", "Better, or not?"),
    )
    assert document.html == (
        '<h1 id="compare">Compare</h1>\n<h2 id="better-or-not">Better, or not?</h2>\n'
        '<p><img src="/docs/pictures/a.png" alt="p" /> <a href="/docs/api.md#live">x</a></p>\n'
        '<h2 id="better-or-not-1">Better, or not?</h2>\n'
    )


HEAD = "|a" * 2_500 + "|\n" + "|-" * 2_500 + "|\n"


@pytest.mark.parametrize("text", [HEAD + "|\n" * 4_900, "[a](/x) " * 501], ids=["table", "brackets"])
def test_a_note_that_would_take_long_to_lay_out_is_shown_as_it_was_written(text: str) -> None:
    html = render_note(text)
    assert len(html) < 60_000
    assert {tag for tag, _ in Tags(html).tags} <= {"p", "br"}


def test_a_note_with_a_long_table_is_a_table() -> None:
    assert render_note("| a | b | c |\n| - | - | - |\n" + "| 1 | 2 | 3 |\n" * 400).count("<tr>") == 401
