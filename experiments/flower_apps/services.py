"""Adding and removing apps, keeping the versions that runs were launched with, trying whether one can be imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import IO

from django.conf import settings
from django.db import transaction

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_admin
from experiments.core.errors import ConflictError, NotAllowedError
from experiments.core.subprocesses import ask_module
from experiments.flower_apps.selectors import (
    AppCheck,
    busy_file,
    check_file,
    check_from,
    is_installing,
    read_check,
    require_app,
)
from experiments.models import User
from workers.apps.environments import make_environment
from workers.apps.library import ARCHIVES, add_app, find_app, find_version, keep_version, remove_app
from workers.apps.package import MOST_BYTES, AppError, AppPackage
from workers.errors import Problem, SpecError
from workers.home import ROOT
from workers.spec import AppSpec, PlannedRun
from workers.store.apps import app_publish

CHECK_SECONDS = 60
WAIT_SECONDS = 5.0
ONE_AT_A_TIME = Lock()
INSTALL_OFF = "Installing for apps is switched off here: start Tributary with TRIBUTARY_APP_INSTALL=1."
UPLOADS_OFF = "Uploads of apps are switched off here (TRIBUTARY_APP_UPLOADS). On the server: manage.py apps add PATH."


def versions_keep(*, planned: Iterable[PlannedRun]) -> None:
    """A run may wait for days, and be tried again after months: by then the app in its folder may be another."""
    launched = {
        (each.spec.app.name, each.sources["versions"]["app"]) for each in planned if isinstance(each.spec, AppSpec)
    }
    for name, version in sorted(launched):
        version_keep(name, version)


def version_keep(name: str, version: str) -> None:
    try:
        find_version(name, version)
    except AppError:
        package = find_app(name)
        if package.hash != version:
            raise AppError(f"{name} was changed while the study was launched: launch it again.") from None
        keep_version(package)
    app_publish(name, version)


def app_upload(*, actor: User, name: str, size: int, content: IO[bytes] | None) -> AppPackage:
    """An archive from a browser or a program; what is wrong with it is told at `file`."""
    require_admin(actor)
    if not settings.APP_UPLOADS:
        raise NotAllowedError(UPLOADS_OFF)
    if content is None or not name.lower().endswith(ARCHIVES):
        raise refusal("Choose a .zip or .fab of the app's folder.")
    if size > largest_upload():
        raise refusal(f"{size / 1e6:,.0f} MB are more than {largest_upload() / 1e6:,.0f} MB: keep data outside.")
    return app_add(actor=actor, source=content)


def largest_upload() -> int:
    """No archive is larger than what may come out of it."""
    return min(settings.MAX_UPLOAD, MOST_BYTES)


def app_add(*, actor: User | None, source: Path | IO[bytes]) -> AppPackage:
    """Its content is the version that new studies take from now on; without an actor the lab's own command did it."""
    try:
        package = add_app(source)
    except AppError as error:
        raise (SpecError(error.errors, error.detail) if error.errors else refusal(error.detail)) from None
    if require_app(package.name).origin != "added":
        remove_app(package.name)
        raise ConflictError(f"{package.name} comes from a folder of TRIBUTARY_APPS, which goes first: change it there.")
    app_publish(package.name, package.hash)
    with transaction.atomic():
        audit_record(
            actor=actor, action="app.add", subject=f"app {package.name}", version=package.version, hash=package.hash
        )
    return package


def refusal(message: str) -> SpecError:
    return SpecError([Problem("file", message)], "The app was not added.")


def app_remove(*, actor: User | None, name: str) -> None:
    """No new study can take it; runs that have it keep their version."""
    if actor is not None:
        require_admin(actor)
    if require_app(name).origin != "added":
        raise ConflictError(f"{name} comes from a folder of TRIBUTARY_APPS: take it away there.")
    with transaction.atomic():
        audit_record(actor=actor, action="app.remove", subject=f"app {name}")
        remove_app(name)


def app_check(*, package: AppPackage) -> AppCheck:
    """Imports it in a process of its own, and keeps the answer beside its versions."""
    if find_spec("flwr") is None:
        return AppCheck(ok=False, tried=False)
    request = {"folder": str(package.folder)}
    try:
        check = check_from(ask_module("workers.apps.check", request, timeout=CHECK_SECONDS + WAIT_SECONDS))
    except subprocess.TimeoutExpired:
        check = AppCheck(ok=False, problem=f"It was not imported within {CHECK_SECONDS} seconds.")
    except (subprocess.SubprocessError, ValueError) as error:
        # Nothing was learnt about the app: the next one to ask tries again.
        return AppCheck(ok=False, problem=f"It could not be tried: {error}")
    target = check_file(package)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}")
    draft.write_text(json.dumps(asdict(check)))
    draft.replace(target)
    return check


def app_check_once(*, package: AppPackage) -> AppCheck | None:
    """As found out before, or now. One app at a time: None where another is being imported for longer."""
    if not ONE_AT_A_TIME.acquire(timeout=WAIT_SECONDS):
        return read_check(package)
    try:
        return read_check(package) or app_check(package=package)
    finally:
        ONE_AT_A_TIME.release()


def app_install(*, actor: User, package: AppPackage) -> None:
    """Starts installing what the app asks for and is not here, into an environment of its own; its log grows."""
    require_admin(actor)
    if not settings.APP_INSTALL:
        raise NotAllowedError(INSTALL_OFF)
    check = read_check(package)
    if check is None or not check.missing:
        raise ConflictError("Nothing that it asks for is missing.")
    if is_installing(package):
        raise ConflictError("It is being installed already.")
    with transaction.atomic():
        audit_record(actor=actor, action="app.install", subject=f"app {package.name}", missing=list(check.missing))
    command = [sys.executable, str(ROOT / "manage.py"), "apps", "install", package.name]
    # Not waited for: whether it works is in the log and in the app's next check.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    Thread(target=process.wait, daemon=True).start()


def environment_make(*, package: AppPackage) -> AppCheck:
    """Installs, in this process, and tries the app again."""
    busy = busy_file(package)
    busy.parent.mkdir(parents=True, exist_ok=True)
    busy.write_text(str(os.getpid()))
    try:
        make_environment(package)
    finally:
        busy.unlink(missing_ok=True)
        check = app_check(package=package)
    return check
