"""The documents as pages: all of them, with links and pictures that lead somewhere, searchable, and nothing else."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from experiments.documentation.documents import (
    SearchResult,
    document_address,
    document_names,
    document_of,
    document_sections,
    glossary,
    search_documents,
)


def test_every_document_is_listed_and_opens(as_owner: Client) -> None:
    page = as_owner.get("/docs").content.decode()
    names = document_names()
    assert {"compare", "glossary", "api"} <= set(names)
    for name in names:
        assert f'href="/docs/{name}"' in page
        assert as_owner.get(f"/docs/{name}").status_code == 200


def test_every_link_and_picture_between_documents_leads_somewhere(as_owner: Client) -> None:
    for name in document_names():
        document = document_of(name)
        assert document is not None
        for address in re.findall(r'(?:href|src)="([^"]+)"', document.html):
            if address.startswith("http") or (address.startswith("/") and not address.startswith("/docs/")):
                continue
            path, _, anchor = address.partition("#")
            other = document_of(path.removeprefix("/docs/")) if path and "/files/" not in path else document
            if "/files/" in path:
                assert as_owner.get(path).status_code == 200, (name, address)
            assert other is not None, (name, address)
            assert not anchor or anchor in {section.anchor for section in other.sections}, (name, address)


def test_links_between_files_become_addresses() -> None:
    assert document_address("flower.md#strategies") == "/docs/flower#strategies"
    assert document_address("pictures/compare.png") == "/docs/files/pictures/compare.png"
    assert document_address("#live") == "#live"
    assert document_address("https://example.org") == "https://example.org"


@pytest.mark.parametrize(
    "path", ["../README.md", "..%2F..%2Fetc%2Fpasswd", "compare.md", "../static/img/mark.svg", "nothing.png"]
)
def test_only_pictures_of_the_documents_are_served(as_owner: Client, path: str) -> None:
    assert as_owner.get(f"/docs/files/{path}").status_code == 404
    assert as_owner.get("/docs/nothing").status_code == 404


def test_sections_have_their_headings_and_code_has_none() -> None:
    text = "# Title\nintro\n## One `x`\ntext\n```\n# no heading\n```\n## One x\nmore"
    assert list(document_sections(text)) == [
        ("Title", "title", "intro"),
        ("One x", "one-x", "text\n```\n# no heading\n```"),
        ("One x", "one-x-1", "more"),
    ]


def test_search_finds_sections_with_all_the_words() -> None:
    results = search_documents("cell seed means")
    assert "glossary" in {result.name for result in results}
    assert search_documents("xyzzy") == []
    assert search_documents("") == []
    found = [result for result in search_documents("Wilcoxon Holm") if result.name == "compare"]
    assert isinstance(found[0], SearchResult)
    assert (found[0].section, found[0].anchor) == ("Is it better?", "is-it-better")


def test_search_shows_excerpts_and_says_when_there_is_nothing(as_owner: Client) -> None:
    page = as_owner.get("/docs", {"q": "Wilcoxon"}).content.decode()
    assert "/docs/compare#is-it-better" in page
    assert "Nothing has all of these words" in as_owner.get("/docs", {"q": "xyzzy<script>"}).content.decode()


def test_the_words_of_the_lab_are_defined() -> None:
    assert {"study", "block", "cell", "run", "cohort", "seed", "round"} <= glossary().keys()
    assert glossary()["cohort"] == "The clients that take part in one round."
