"""The lab's server goes away in the middle of a script's calls. `benchmarks.logged --outage 60` is the long form."""

from __future__ import annotations

import pytest
from tributary import Connection

from benchmarks.logged.outage import log_through_outage, lost_or_doubled
from tests.live import LivePlatform


def test_ten_thousand_calls_arrive_once_whatever_the_server_does(
    lab: Connection, live_platform: LivePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tributary.logged.LONGEST_WAIT", 1.0)  # the server is not away for a minute here
    run = log_through_outage(
        lab, calls=10_000, seconds=2, stop=lambda: live_platform.stop("web"), start=live_platform.start_web
    )
    assert lost_or_doubled(run, 10_000) == []
