from __future__ import annotations

from django.test import Client

from workers.catalog import load_catalog


def test_every_component_is_explained(as_owner: Client) -> None:
    page = as_owner.get("/catalog").content.decode()

    for component in load_catalog():
        assert f'id="{component.kind}-{component.name}"' in page
    assert "w &lt;- sum_i (n_i / n) w_i over the cohort" in page
    assert "How a client renews its control variate" in page
    assert "your lab" not in page


def test_nobody_reads_it_without_an_account() -> None:
    assert Client().get("/catalog").status_code == 302
