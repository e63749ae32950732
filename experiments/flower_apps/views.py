"""The lab's Flower apps: what each offers, whether it can be imported, and the buttons that add and remove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.access.services.rights import require_launch
from experiments.core.errors import NotAllowedError
from experiments.flower_apps.selectors import AppRow, app_rows, row_or_404
from experiments.flower_apps.services import (
    UPLOADS_OFF,
    app_check,
    app_check_once,
    app_install,
    app_remove,
    app_upload,
    largest_upload,
)
from experiments.models import User
from experiments.web.requests import current_user
from workers.apps.package import AppPackage
from workers.errors import TributaryError


def apps_page(request: HttpRequest) -> HttpResponse:
    return render_page(request)


def render_page(request: HttpRequest, *, error: TributaryError | None = None, status: int = 200) -> HttpResponse:
    """With what was wrong with an upload, where one was refused."""
    rows = app_rows()
    context: dict[str, Any] = {
        "rows": rows,
        "usable": sum(row.app.package is not None for row in rows),
        "error": error,
        "uploads": settings.APP_UPLOADS,
        "may_install": settings.APP_INSTALL,
        "uploads_off": UPLOADS_OFF,
        "upload_limit": largest_upload() // 1_000_000,
    }
    return render(request, "pages/apps.html", context, status=status)


@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    file = request.FILES.get("file")
    name, size, content = (file.name or "", file.size or 0, file.file) if file else ("", 0, None)
    try:
        package = app_upload(actor=current_user(request), name=name, size=size, content=content)
    except TributaryError as error:
        return render_page(request, error=error, status=403 if isinstance(error, NotAllowedError) else 422)
    messages.success(request, f"{package.name} {package.version} is here: new studies take it from now on.")
    return redirect(f"{reverse('apps')}#app-{package.name}")


def app_state(request: HttpRequest, name: str) -> HttpResponse:
    """Whether it can be imported: tried the first time somebody looks."""
    row = row_or_404(name)
    package = row.app.package
    check = app_check_once(package=package) if package else None
    context = {"row": replace(row, check=check), "waits": check is None, "may_install": settings.APP_INSTALL}
    return render(request, "parts/app_state.html", context)


@require_POST
def app_action(request: HttpRequest, name: str, action: str) -> HttpResponse:
    if action not in APP_ACTIONS:
        raise Http404
    row = row_or_404(name)
    try:
        messages.success(request, APP_ACTIONS[action](current_user(request), row))
    except TributaryError as error:
        messages.error(request, f"{name}: {error.detail}")
    return redirect(f"{reverse('apps')}#app-{name}")


def remove(actor: User, row: AppRow) -> str:
    app_remove(actor=actor, name=row.app.name)
    return f"{row.app.name} is removed: no new study can take it. Runs that have it keep their version."


def check_again(actor: User, row: AppRow) -> str:
    require_launch(actor)
    check = app_check(package=readable_package(row))
    if not check.tried:
        return f"{row.app.name}: Flower is not installed beside the web server, so it is tried by the first run."
    return f"{row.app.name} can be imported." if check.ok else f"{row.app.name} cannot be imported: {check.problem}"


def install(actor: User, row: AppRow) -> str:
    app_install(actor=actor, package=readable_package(row))
    return f"{row.app.name}: what it asks for is being installed. You may leave this page."


def readable_package(row: AppRow) -> AppPackage:
    if row.app.package is None:
        raise TributaryError(row.app.problem)
    return row.app.package


APP_ACTIONS: dict[str, Callable[[User, AppRow], str]] = {"remove": remove, "check": check_again, "install": install}
