"""Every page's address. REST has its own in `experiments.api.urls`."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from experiments.access import views as access
from experiments.catalog import views as catalog
from experiments.client_data import views as client_data
from experiments.compare.views import displays, downloads, page, shared
from experiments.datasets import views as datasets
from experiments.flower_apps import views as flower_apps
from experiments.presets import views as presets
from experiments.queue.views import queue, workers
from experiments.results.views import charts, files, run
from experiments.studies.views import actions, editor, studies, study

urlpatterns = [
    path("", studies.studies_page, name="studies"),
    path("studies/new", editor.new_study, name="new-study"),
    path("studies/draft", editor.study_draft, name="study-draft"),
    path("studies/preview", editor.study_preview, name="study-preview"),
    path("studies/launch", editor.launch_study, name="study-launch"),
    path("studies/<int:pk>/study.yaml", editor.study_yaml, name="study-yaml"),
    path("studies/<int:pk>", study.study_page, name="study"),
    path("studies/<int:pk>/figure", study.study_figure, name="study-figure"),
    path("studies/<int:pk>/runs", study.study_runs, name="study-runs"),
    path("studies/portrait", client_data.draft_client_data, name="draft-portrait"),
    path("studies/<int:pk>/portrait", client_data.study_client_data, name="study-portrait"),
    path("studies/<int:pk>/displays", displays.study_displays, name="displays"),
    path("studies/<int:pk>/displays/charts/<slug:name>", displays.display_chart, name="display-chart"),
    path("studies/<int:pk>/displays/charts/<slug:name>.csv", displays.display_csv, name="display-csv"),
    path("studies/<int:pk>/edit", study.edit_study, name="study-edit"),
    path("studies/<int:pk>/deletion", study.deletion_page, name="study-deletion"),
    path("studies/<int:pk>/<slug:action>", actions.study_action, name="study-action"),
    path("runs/<int:pk>", run.run_page, name="run"),
    path("runs/<int:pk>/figure", charts.run_figure, name="run-figure"),
    path("runs/<int:pk>/clients", run.run_clients, name="run-clients"),
    path("runs/<int:pk>/clients/figure", charts.run_clients_figure, name="run-clients-figure"),
    path("runs/<int:pk>/costs/figure", charts.run_costs_figure, name="run-costs-figure"),
    path("runs/<int:pk>/confusion/figure", charts.run_confusion_figure, name="run-confusion-figure"),
    path("runs/<int:pk>/log", files.run_log_part, name="run-log"),
    path("runs/<int:pk>/files/<path:name>", files.run_file, name="run-file"),
    path("runs/<int:pk>/portrait", client_data.run_client_data, name="run-portrait"),
    path("runs/<int:pk>/<slug:action>", actions.run_action, name="run-action"),
    path("queue", queue.queue_page, name="queue"),
    path("queue/runs/<slug:action>", queue.runs_action, name="queue-runs"),
    path("queue/studies/<slug:action>", queue.studies_action, name="queue-studies"),
    path("compare", page.compare, name="compare"),
    path("compare/charts/<slug:name>", page.chart_json, name="compare-chart"),
    path("compare/charts/<slug:name>.csv", downloads.chart_csv, name="compare-csv"),
    path("compare/table.<slug:kind>", downloads.table_file, name="compare-table"),
    path("shared/<str:secret>", shared.shared, name="shared"),
    path("shared/<str:secret>/charts/<slug:name>", shared.shared_chart, name="shared-chart"),
    path("shared/<str:secret>/charts/<slug:name>.csv", shared.shared_csv, name="shared-csv"),
    path("shared/<str:secret>/table.<slug:kind>", shared.shared_table, name="shared-table"),
    path("presets", presets.preset_list, name="presets"),
    path("presets/<slug:name>", presets.preset_page, name="preset"),
    path("presets/<slug:name>/launch", presets.preset_launch_action, name="preset-launch"),
    path("catalog", catalog.catalog_page, name="catalog"),
    path("data-sets", datasets.datasets, name="datasets"),
    path("data-sets/npz/upload", datasets.dataset_upload, name="dataset-upload"),
    path("data-sets/<slug:name>/look", datasets.dataset_overview_part, name="dataset-look"),
    path("data-sets/<slug:name>/<slug:action>", datasets.dataset_action, name="dataset-action"),
    path("apps", flower_apps.apps_page, name="apps"),
    path("apps/upload", flower_apps.upload, name="app-upload"),
    path("apps/<str:name>/state", flower_apps.app_state, name="app-state"),
    path("apps/<str:name>/<slug:action>", flower_apps.app_action, name="app-action"),
    path("portraits/<slug:key>.png", client_data.sample_pictures_file, name="portrait-pictures"),
    path("workers", workers.workers_page, name="workers"),
    path("workers/<int:pk>/<slug:action>", workers.worker_action, name="worker-action"),
    path("pulse", workers.pulse_part, name="pulse"),
    path("me", access.me, name="me"),
    path("me/tokens", access.token_new, name="token-new"),
    path("me/tokens/<int:pk>/revoke", access.token_end, name="token-revoke"),
    path("people", access.accounts, name="people"),
    path("people/<int:pk>/<slug:action>", access.account_action, name="person-action"),
    path("audit", access.audit, name="audit"),
    path("log-in", access.LogIn.as_view(), name="login"),
    path("log-out", LogoutView.as_view(), name="logout"),
]
