"""Every published study, small: launched, run on real data by a real worker, compared and redrawn."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Role, RunState, User
from experiments.presets.preset import presets
from experiments.presets.services import preset_launch
from tests.live import LivePlatform, eventually

SECONDS = 900
"""A bound for a busy machine; a quiet one needs seconds to half a minute for each."""

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def lab(live_platform: LivePlatform, real_data: None) -> LivePlatform:
    """With a second worker, as on a machine with two cores."""
    live_platform.start_worker(2)
    return live_platform


@pytest.mark.parametrize(
    ("name", "runs", "compared", "displays"),
    [
        ("athena-fl-2023", 9, 12, ["detectors", "curves", "final-bars", "traffic", "sizes", "groups"]),
        ("bozorgzad-2024", 13, 4, ["curves", "swap-moments", "traffic", "rounds-to-target", "holdings-histograms"]),
        ("iaisy-2024", 6, 6, ["curves", "against-ratio", "rounds-to-target"]),
        ("mazarakis-2023", 5, 5, ["stability-table", "overlays", "curves", "holdings"]),
        ("niid-bench", 28, 0, ["final-table", "curves", "holdings"]),
        ("tagarakis-2023", 12, 24, ["rounds-table", "curves", "holdings"]),
    ],
)
def test_its_quick_scale_runs_and_is_compared(
    lab: LivePlatform, name: str, runs: int, compared: int, displays: list[str]
) -> None:
    owner, _ = User.objects.get_or_create(username="owner", defaults={"role": Role.MEMBER})
    study = preset_launch(owner=owner, preset=presets()[name], scale="quick")
    eventually(lambda: not study.runs.filter(state__in=(RunState.QUEUED, RunState.RUNNING)).exists(), SECONDS)
    assert list(study.runs.values_list("state", flat=True)) == [RunState.DONE] * runs

    client = Client()
    client.force_login(owner)
    page = client.get(f"/presets/{name}?study={study.pk}")
    assert page.status_code == 200
    assert len(page.context["lines"]) == compared
    assert [each.name for each in page.context["displays"]] == displays
    answer = client.get(f"/api/v1/presets/{name}/comparison?study={study.pk}").json()
    assert (answer["compared"], len(answer["rows"])) == (compared, len(presets()[name].published))
