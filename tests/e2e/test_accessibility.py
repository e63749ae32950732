"""No serious or critical finding of axe on any page, in both themes."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import expect

from experiments.models import Study
from tests.e2e.conftest import NewPage
from tests.e2e.test_all_pages import PAGES, study
from tests.experiments import lab

__all__ = ["study"]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
MORE_PAGES = ["/leaderboard", "/presets", "/presets/iaisy-2024", "/docs", "/docs/compare", "/docs?q=cell"]
FIND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter(({impact}) => ["serious", "critical"].includes(impact))
  .flatMap(({id, nodes}) => nodes.slice(0, 3).map((node) => `${id} ${node.target}: ${node.failureSummary}`))"""


def test_axe_finds_nothing_serious_on_any_page(member_page: NewPage, study: Study) -> None:
    page = member_page(bypass_csp=True)
    run = lab.runs_in_order(study)[0].pk
    compared = [f"/compare?study={study.pk}&tab={tab}" for tab in ("overview", "better", "cost", "clients", "specs")]
    own = [f"/studies/{study.pk}", f"/studies/{study.pk}/displays", f"/runs/{run}", *compared]
    found: dict[str, list[str]] = {}
    for address in [*PAGES, *MORE_PAGES, *own]:
        page.goto(address)
        expect(page.locator("h1").first).to_be_visible()
        if page.locator("[data-figure]").count():
            page.wait_for_selector("[data-figure] .plot .main-svg, .waiting:not(:empty)")
        page.evaluate(AXE)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            expect(page.locator("html")).to_have_attribute("data-theme", scheme)
            if serious := page.evaluate(FIND):
                found[f"{address} {scheme}"] = serious
    assert found == {}
