"""Pages of the documentation."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from experiments.documentation.documents import (
    FILE_TYPES,
    document_of,
    documents_by_group,
    picture_path,
    search_documents,
)


def documentation(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip()
    context = {"groups": documents_by_group(), "search": words, "results": search_documents(words)}
    return render(request, "pages/documentation.html", context)


def document(request: HttpRequest, name: str) -> HttpResponse:
    page = document_of(name)
    if page is None:
        raise Http404
    sections = [section for section in page.sections if section.level == 2]
    context = {"document": page, "name": name, "groups": documents_by_group(), "sections": sections}
    return render(request, "pages/document.html", context)


def document_picture(request: HttpRequest, name: str) -> HttpResponse:
    path = picture_path(name)
    if path is None:
        raise Http404
    return HttpResponse(path.read_bytes(), content_type=FILE_TYPES[path.suffix])
