"""Runs of an app on every page, in every chart and table, and over REST: there is no data set, model or strategy."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from experiments.charts.styles import line_styles
from experiments.compare.choices import choices_of
from experiments.compare.selection import selection_of
from experiments.export.columns import read_run_columns
from experiments.labels.axes import axes_text, axis_values
from experiments.labels.metrics import sort_metric_names
from experiments.labels.specs import spec_words
from experiments.models import Attempt, RunState, Study, User
from experiments.results.selectors.files import run_files
from experiments.studies.editor.clone import start_from_run
from experiments.studies.services.launch import study_launch
from tests.experiments import lab
from workers.home import artifact_folder


def get(client: Client, address: str) -> Any:
    response = client.get(address)
    assert response.status_code == 200, (address, response.content[:500])
    return response


def test_every_page_shows_a_study_of_an_app(app_study: Study, as_owner: Client) -> None:
    run = lab.runs_in_order(app_study)[0]
    pages = [
        "/",
        "/queue?state=done",
        f"/studies/{app_study.pk}",
        f"/studies/{app_study.pk}/runs",
        f"/studies/{app_study.pk}/displays",
        f"/studies/{app_study.pk}/figure?metric=accuracy",
        f"/studies/new?from={app_study.pk}",
        f"/studies/new?run={run.pk}",
        f"/runs/{run.pk}",
        f"/runs/{run.pk}/clients",
        f"/runs/{run.pk}/figure?metric=loss",
        f"/runs/{run.pk}/clients/figure?number=loss",
        f"/runs/{run.pk}/costs/figure",
        f"/compare?study={app_study.pk}",
        *(f"/compare?study={app_study.pk}&tab={tab}" for tab in ("better", "cost", "clients", "specs")),
        f"/compare/tables/values.md?study={app_study.pk}",
        f"/compare/tables/values.tex?study={app_study.pk}",
        f"/api/v1/runs/{run.pk}",
        f"/api/v1/studies/{app_study.pk}/summary",
        f"/api/v1/metrics?study={app_study.pk}&format=csv",
    ]
    for address in pages:
        response = as_owner.get(address)
        assert response.status_code == 200, address


def test_every_chart_of_compare_takes_cells_of_an_app(app_study: Study, as_owner: Client) -> None:
    from experiments.compare.chart_builders import CHART_BUILDERS

    for name in CHART_BUILDERS:
        get(as_owner, f"/compare/charts/{name}?study={app_study.pk}")


def test_every_display_takes_cells_of_an_app(app_study: Study, as_owner: Client) -> None:
    from experiments.compare.displays.charts import DISPLAY_CHARTS

    for name in DISPLAY_CHARTS:
        get(as_owner, f"/studies/{app_study.pk}/displays/charts/{name}")
    page = get(as_owner, f"/studies/{app_study.pk}/displays").content.decode()
    assert "Final accuracy" in page
    assert "What the clients hold" not in page


def test_the_run_page_tells_the_app_its_version_and_its_config(app_study: Study, as_owner: Client) -> None:
    run = lab.runs_in_order(app_study)[0]
    version = run.launch_sources["versions"]["app"][:12]
    page = get(as_owner, f"/runs/{run.pk}").content.decode()
    assert "numpy-least-squares · learning-rate 0.01 · local-steps 5 · num-examples 40 · num-server-rounds 2" in page
    assert f'<dt>App</dt><dd>numpy-least-squares <span class="muted small">version {version}</span></dd>' in page
    assert "<dt>learning-rate</dt><dd>0.01</dd>" in page
    assert "What the clients hold" not in page


def test_the_words_of_a_spec_are_the_apps_own(app_study: Study) -> None:
    run = lab.runs_in_order(app_study)[3]
    facts = {fact.name: fact.value for fact in spec_words(run.spec, run.launch_sources)}
    assert facts == {
        "App": "numpy-least-squares",
        "Clients": "4",
        "learning-rate": "0.1",
        "local-steps": "5",
        "num-examples": "40",
        "num-server-rounds": "2",
        "Seed": "0",
    }


def test_cells_are_called_by_the_keys_that_vary(app_study: Study) -> None:
    selection = selection_of(choices_of(QueryDict(f"study={app_study.pk}")))
    assert {axis: list(words.values()) for axis, words in selection.axes.items()} == {
        "app.learning-rate": ["learning-rate 0.01", "learning-rate 0.1", "learning-rate 1"]
    }
    assert selection.fields == {"app.learning-rate": "learning-rate"}
    styles = line_styles(selection.specs)
    assert [style.label for style in styles.values()] == [
        "learning-rate 0.01",
        "learning-rate 0.1",
        "learning-rate 1",
    ]
    assert [style.hue for style in styles.values()] == [0, 1, 2]


def test_the_axes_of_a_study_are_read_from_its_blocks(app_study: Study) -> None:
    assert axes_text(app_study.blocks) == "numpy-least-squares · 3 learning-rates · 3 seeds"


SPEC = {"strategy": {"name": "fedavg"}, "dataset": {"name": "digits"}, "rounds": 3, "seed": 0}


def app_spec(name: str, **config: Any) -> dict[str, Any]:
    return {"app": {"name": name, "config": config, "clients": 10, "metrics": {}}, "seed": 0, "engine": "auto"}


def test_an_app_beside_a_strategy_stands_in_its_place() -> None:
    cells = {"one": SPEC, "two": app_spec("my-app", lr=0.1)}
    assert axis_values(cells)["strategy"] == {"one": "FedAvg", "two": "my-app"}
    assert [style.label for style in line_styles(cells).values()] == ["FedAvg · Digits", "my-app"]


def test_keys_that_only_one_of_two_apps_has_are_not_told_of_the_other() -> None:
    cells = {"one": app_spec("first", lr=0.1), "two": app_spec("first", lr=0.2), "three": app_spec("second", depth=3)}
    assert [style.label for style in line_styles(cells).values()] == ["first · lr 0.1", "first · lr 0.2", "second"]


def test_two_versions_of_an_app_are_told_apart_by_their_studies() -> None:
    cells = {"one": app_spec("first", lr=0.1), "two": app_spec("first", lr=0.1)}
    styles = line_styles(cells, {"one": "Before", "two": "After"})
    assert [style.label for style in styles.values()] == ["Before", "After"]


def test_the_table_compares_learning_rates(app_study: Study, as_owner: Client) -> None:
    latex = get(as_owner, f"/compare/tables/values.tex?study={app_study.pk}").content.decode()
    assert r"0.01 & $61.00 \pm 1.00$ \\" in latex
    assert r"0.1 & $\mathbf{91.00 \pm 1.00}$ \\" in latex


def test_significance_compares_the_values_of_a_key(app_study: Study, as_owner: Client) -> None:
    page = get(as_owner, f"/compare?study={app_study.pk}&tab=better").content.decode()
    assert "learning-rate 0.1" in page


def test_exports_have_a_column_for_each_key_that_varies(app_study: Study) -> None:
    columns = read_run_columns(app_study.runs.all())
    assert {name: column.to_pylist()[::3] for name, column in columns.fields.items()} == {
        "app.learning-rate": [0.01, 0.1, 1.0]
    }
    everything = read_run_columns(app_study.runs.all(), every_field=True)
    assert sorted(everything.fields) == [
        "app",
        "app.clients",
        "app.learning-rate",
        "app.local-steps",
        "app.num-examples",
        "app.num-server-rounds",
    ]


def test_runs_are_found_by_their_app_and_its_config(app_study: Study, study: Study, as_owner: Client) -> None:
    def count(query: str) -> int:
        return int(get(as_owner, f"/api/v1/runs?{query}").json()["count"])

    assert count("app=numpy-least-squares") == 9
    assert count("app=another") == 0
    assert count("app=numpy-least-squares&app.learning-rate=0.1") == 3
    assert count("app.clients=4") == 9
    assert count("strategy=fedavg") == 3
    assert as_owner.get("/api/v1/runs?application=x").status_code == 422


def test_the_summary_over_rest_is_by_the_key_that_varies(app_study: Study, as_owner: Client) -> None:
    summary = get(as_owner, f"/api/v1/studies/{app_study.pk}/summary").json()
    assert summary["by"] == ["app.learning-rate"]
    assert [(row["group"], row["n"], row["best"]) for row in summary["rows"]] == [
        ({"app.learning-rate": 0.01}, 3, False),
        ({"app.learning-rate": 0.1}, 3, True),
        ({"app.learning-rate": 1.0}, 3, False),
    ]
    assert summary["rows"][1]["mean"] == pytest.approx(0.91)


def test_what_clients_hold_is_the_apps_own_business(app_study: Study, as_owner: Client) -> None:
    run = lab.runs_in_order(app_study)[0]
    words = "This run is one of a Flower app, which brings its own data: what its clients hold is not known here."
    response = as_owner.get(f"/api/v1/runs/{run.pk}/partition")
    assert (response.status_code, response.json()["detail"]) == (400, words)
    assert get(as_owner, f"/runs/{run.pk}/portrait").json()["problem"] == words


def test_a_run_of_an_app_is_cloned_with_all_of_its_config(app_study: Study) -> None:
    run = lab.runs_in_order(app_study)[8]
    assert start_from_run(run).study["blocks"] == [
        {
            "app": {
                "name": "numpy-least-squares",
                "config": {"learning-rate": 1.0, "local-steps": 5, "num-examples": 40, "num-server-rounds": 2},
                "clients": 4,
            },
            "seeds": [2],
        }
    ]


def test_the_queue_calls_a_run_by_its_app(apps: Path, owner: User, as_owner: Client) -> None:
    lab.launched_app(owner)
    page = get(as_owner, "/queue").content.decode()
    assert "numpy-least-squares · learning-rate 0.01 · local-steps 5 · num-examples 40 · num-server-rounds 2" in page


def test_an_app_that_measures_no_accuracy_is_compared_by_what_it_measures(
    apps: Any, owner: User, as_owner: Client
) -> None:
    study = lab.launched_app(owner)
    for run in lab.runs_in_order(study):
        lab.record(run, {"mean_height": [1.0, 1.5, 1.7]})
    page = get(as_owner, f"/compare?study={study.pk}").content.decode()
    assert '<option value="mean_height" selected>' in page
    chart = json.loads(get(as_owner, f"/compare/charts/curves?study={study.pk}").content)
    assert len(chart["data"]) > 0


def test_what_is_measured_comes_before_what_it_costs_where_nothing_is_known() -> None:
    assert sort_metric_names(["seconds", "bytes_up", "mean_height"]) == ["mean_height", "bytes_up", "seconds"]
    assert sort_metric_names(["seconds", "r2", "loss"]) == ["loss", "seconds", "r2"]


def test_files_that_an_app_wrote_are_the_runs_files(app_study: Study, as_owner: Client, tmp_path: Path) -> None:
    run = lab.runs_in_order(app_study)[0]
    token = uuid.uuid4()
    Attempt.objects.create(run=run, number=1, token=token, worker="w", started=lab.NOON)
    folder = artifact_folder(run.pk, token) / "files"
    (folder / "results").mkdir(parents=True)
    (folder / "results" / 'odd "name".csv').write_text("1,2\n")
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "linked").symlink_to(tmp_path)
    assert [file.name for file in run_files(run)] == ["spec.yaml", 'files/results/odd "name".csv']
    page = get(as_owner, f"/runs/{run.pk}").content.decode()
    assert "Written by the app" in page
    assert "The app left no model." in page
    response = get(as_owner, f"/runs/{run.pk}/files/files/results/odd%20%22name%22.csv")
    assert response["Content-Disposition"] == f'attachment; filename="run-{run.pk}-files-results-odd--name-.csv"'
    for name in ("files/link", "files/linked/secret", "files/../../../secret"):
        assert as_owner.get(f"/runs/{run.pk}/files/{name}").status_code == 404


def test_an_app_that_does_not_say_its_rounds_shows_no_end_before_it_is_done(
    apps: Path, as_owner: Client, owner: User
) -> None:
    block = {"app": {"name": "federated-analytics", "clients": 3}}
    run = study_launch(owner=owner, name="Histograms", blocks=[block], requires="gpu").runs.get()
    lab.record(run, {"samples": [10.0, 10.0, 10.0]}, RunState.RUNNING)
    page = as_owner.get(f"/runs/{run.pk}").content.decode()
    assert "2 rounds so far" in page
    assert "2 / 2" not in page
