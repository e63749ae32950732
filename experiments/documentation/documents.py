"""Documents as they are on disk: listed by what people look for, rendered, searched, and the glossary among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from experiments.web.markdown import Document, anchor_of, render_document
from workers.home import ROOT

FOLDER = ROOT / "docs"
GROUPS = {
    "Use it": (
        "glossary",
        "studies",
        "fields",
        "compare",
        "leaderboard",
        "data",
        "models",
        "strategies",
        "methods",
        "reproduction",
    ),
    "Attacks, privacy, traffic": ("attacks", "privacy", "compression"),
    "From programs": ("api", "agents", "export", "import"),
    "Extend it": ("plugins", "flower-apps", "flower"),
    "Run it for a lab": ("operations", "sign-on", "security", "reliability", "scale", "trust"),
    "How it is made": ("architecture", "benchmarks"),
}
FILE_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".json": "application/json"}
TERM = re.compile(r"^- \*\*([a-z]+)\*\*: (.+)$", re.MULTILINE)
HEADING = re.compile(r"^(#{1,6}) (.+)$")
FENCE = "```"
MOST_RESULTS = 30
AROUND = 90
"""Letters of a found text on each side of the first word."""


@dataclass(frozen=True)
class DocumentEntry:
    name: str
    title: str
    summary: str


@dataclass(frozen=True)
class SearchResult:
    name: str
    title: str
    section: str
    anchor: str
    excerpt: str


def document_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.md"))


def documents_by_group() -> dict[str, list[DocumentEntry]]:
    """Those that are in no list come last, so that no document is lost."""
    names = document_names()
    groups = {group: [name for name in listed if name in names] for group, listed in GROUPS.items()}
    groups["More"] = [name for name in names if not any(name in listed for listed in GROUPS.values())]
    return {group: [document_entry(name) for name in listed] for group, listed in groups.items() if listed}


def document_entry(name: str) -> DocumentEntry:
    lines = document_text(name).splitlines()
    title = lines[0].removeprefix("# ")
    return DocumentEntry(name, title, first_sentence(plain_words(first_paragraph("\n".join(lines[1:])))))


def first_paragraph(body: str) -> str:
    """The first one of prose above the first section, whatever code or table stands before it."""
    for block in body.partition("\n## ")[0].split("\n\n"):
        text = " ".join(block.split())
        if text and not text.startswith(("#", "|", "- ", FENCE, "<!--")):
            return text
    return ""


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:]) ", text, maxsplit=1)[0].rstrip(":")


def plain_words(markdown: str) -> str:
    return re.sub(r"[*`]|!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL))


def document_text(name: str) -> str:
    path = FOLDER / f"{name}.md"
    return read_text(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def read_text(path: Path, changed: int) -> str:
    """`changed` is part of the key: a document that is edited is read again."""
    return path.read_text()


def document_of(name: str) -> Document | None:
    return rendered(name, document_text(name)) if name in document_names() else None


@lru_cache(maxsize=64)
def rendered(name: str, text: str) -> Document:
    return render_document(text, document_address)


def document_address(link: str) -> str:
    """Documents link to each other and to the files beside them; files of other types are not served."""
    if re.match(r"[a-z]+:|/|#", link):
        return link
    path, _, anchor = link.partition("#")
    if path.endswith(".md") and "/" not in path:
        return f"/docs/{path.removesuffix('.md')}" + (f"#{anchor}" if anchor else "")
    return f"/docs/files/{path}"


def picture_path(name: str) -> Path | None:
    """Inside the folder, whatever the address says."""
    path = (FOLDER / name).resolve()
    known = path.suffix in FILE_TYPES and path.is_relative_to(FOLDER.resolve()) and path.is_file()
    return path if known else None


def search_documents(words: str) -> list[SearchResult]:
    """Sections that have all the words; those that have them in their heading first."""
    wanted = [word.lower() for word in words.split()]
    if not wanted:
        return []
    results: list[tuple[int, SearchResult]] = []
    for name in document_names():
        title = document_entry(name).title
        for section, anchor, text in document_sections(document_text(name)):
            plain = " ".join(plain_words(text).split())
            everything = f"{title} {section} {plain}".lower()
            if all(word in everything for word in wanted) and any(
                word in f"{section} {plain}".lower() for word in wanted
            ):
                in_heading = sum(word in section.lower() for word in wanted)
                excerpt = excerpt_around(plain, wanted)
                results.append((-in_heading, SearchResult(name, title, section, anchor, excerpt)))
    return [result for _, result in sorted(results, key=lambda each: each[0])][:MOST_RESULTS]


def document_sections(text: str) -> Iterator[tuple[str, str, str]]:
    """Heading, anchor and text of each; what looks like a heading inside code is none."""
    heading, in_code = "", False
    lines: list[str] = []
    anchors: list[str] = []
    for line in text.splitlines():
        in_code ^= line.startswith(FENCE)
        match = None if in_code else HEADING.match(line)
        if match is None:
            lines.append(line)
            continue
        if heading or lines:
            yield heading, anchors[-1] if anchors else "", "\n".join(lines)
        heading, lines = plain_words(match[2]), []
        anchors.append(anchor_of(heading, anchors))
    yield heading, anchors[-1] if anchors else "", "\n".join(lines)


def excerpt_around(text: str, wanted: Sequence[str]) -> str:
    place = min((found for word in wanted if (found := text.lower().find(word)) >= 0), default=0)
    start, end = max(0, place - AROUND), place + AROUND
    return f"{'…' if start else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"


@cache
def glossary() -> dict[str, str]:
    """What each word means, in a sentence or two; `docs/glossary.md` is the only place that says it."""
    return dict(TERM.findall(document_text("glossary")))
