"""What the database needs before the platform can serve: tables, an admin, and a first study to look at."""

from __future__ import annotations

from typing import TypedDict

from django.core.management import call_command

from config import env
from workers.errors import SpecError


class Report(TypedDict):
    """`password` only if it was made just now and the person does not know it yet."""

    password: str | None
    tour: bool


def prepare() -> Report:
    from experiments.services.people import ensure_admin
    from experiments.services.tour import ensure_tour

    call_command("migrate", verbosity=0, interactive=False)
    try:
        admin, password = ensure_admin(password=env.ADMIN_PASSWORD.read() or None)
    except SpecError as error:
        reasons = " ".join(problem.message for problem in error.errors)
        raise env.SettingError(f"TRIBUTARY_ADMIN_PASSWORD is refused: {reasons}") from None
    tour = ensure_tour(admin) if env.TOUR.read() else False
    return {"password": password, "tour": bool(tour)}
