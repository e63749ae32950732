"""Markdown as HTML that can do no harm: tags are text, links lead to web, mail and own pages, pictures only to our own.

Notes that people write and the pages of `docs/` go through the same parser; what differs is the level of headings and
where links and pictures may lead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, count, pairwise
from typing import Any

from django.utils.html import linebreaks
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.token import Token

LINK_SCHEMES = ("http", "https", "mailto")
SCHEME = re.compile(r"([^/?#:]*):")
COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")
HIGHEST_NOTE_HEADING = 3
MOST_TABLE_FIELDS, MOST_BRACKETS = 5_000, 500
"""Of a note: a few thousand letters can ask for a table of millions of fields, or for a second of looking for links."""


@dataclass(frozen=True)
class Section:
    level: int
    anchor: str
    text: str


@dataclass(frozen=True)
class Document:
    title: str
    html: SafeString
    sections: tuple[Section, ...]


class SafeMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        """The library refuses known evils; here only what is known to be good passes."""
        scheme = SCHEME.match(url.strip())
        return scheme is None or scheme[1].lower() in LINK_SCHEMES


@cache
def parser() -> MarkdownIt:
    markdown = SafeMarkdown("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.add_render_rule("table_open", lambda *_: '<div class="table-box"><table>\n')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return markdown


@lru_cache(maxsize=512)
def render_note(text: str) -> SafeString:
    """What a person wrote: headings below those of the page, pictures as links to them. What would take long to lay
    out is shown as it was written."""
    if table_fields(text) > MOST_TABLE_FIELDS or text.count("[") > MOST_BRACKETS:
        return SafeString(linebreaks(text, autoescape=True))
    tokens = parser().parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + HIGHEST_NOTE_HEADING - 1)}"
        token.children = [part for child in token.children or () for part in pictures_as_links(child)]
    mark_outside_links(tokens)
    return rendered(tokens)


def table_fields(text: str) -> int:
    """At most as many as there could be: every row is filled up to the width of the head."""
    lines = text.splitlines()
    return len(lines) * max((line.count("|") for line in lines), default=0)


def render_document(text: str, address: Callable[[str], str]) -> Document:
    """A page of the documentation, without comments for programs; `address` says where a link or a picture leads."""
    tokens = parser().parse(COMMENT.sub("", text))
    sections = tuple(number_sections(tokens))
    for token in all_tokens(tokens):
        for attribute in ("href", "src"):
            if attribute in token.attrs:
                token.attrs[attribute] = address(str(token.attrs[attribute]))
    mark_outside_links(tokens)
    title = next((section.text for section in sections if section.level == 1), "")
    return Document(title, rendered(tokens), sections)


def rendered(tokens: Sequence[Token]) -> SafeString:
    markdown = parser()
    return SafeString(markdown.renderer.render(tokens, markdown.options, {}))


def all_tokens(tokens: Sequence[Token]) -> list[Token]:
    return [part for token in tokens for part in (token, *all_tokens(token.children or ()))]


def pictures_as_links(token: Token) -> list[Token]:
    """A picture elsewhere would tell its server who reads the note."""
    if token.type != "image":
        return [token]
    attrs: dict[str, Any] = {"href": token.attrs["src"]}
    label = Token("text", "", 0, content=token.content or str(token.attrs["src"]))
    return [Token("link_open", "a", 1, attrs=attrs), label, Token("link_close", "a", -1)]


def mark_outside_links(tokens: Sequence[Token]) -> None:
    for token in all_tokens(tokens):
        if token.type == "link_open" and re.match(r"https?:|//", str(token.attrs["href"])):
            token.attrs["rel"] = "noopener nofollow"


def anchor_of(heading: str, before: Sequence[str]) -> str:
    """As GitHub makes them: `before` are those of the page so far, of which none comes twice."""
    plain = NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", "-")
    numbered = (f"{plain}-{number}" for number in count(1))
    return next(name for name in chain([plain], numbered) if name not in before)


def number_sections(tokens: Sequence[Token]) -> list[Section]:
    """Gives every heading an anchor as GitHub does, so that links between pages work in both places."""
    sections: list[Section] = []
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or ())
        anchor = anchor_of(text, [section.anchor for section in sections])
        opening.attrs["id"] = anchor
        sections.append(Section(int(opening.tag[1]), anchor, text))
    return sections
