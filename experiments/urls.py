"""Every page's address. REST has its own in `experiments.api.urls`."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from experiments.access.views import audit, log_in, me, people, sign_on
from experiments.bookmarks import views as bookmarks
from experiments.catalog import views as catalog
from experiments.client_data import views as client_data
from experiments.compare.views import displays, downloads, page, shared
from experiments.datasets import views as datasets
from experiments.documentation import views as documentation
from experiments.flower_apps import views as flower_apps
from experiments.home import views as home
from experiments.leaderboard import views as leaderboard
from experiments.notes import views as notes
from experiments.presets import views as presets
from experiments.queue.views import queue, workers
from experiments.result_imports import views as result_imports
from experiments.results.views import charts, files, run
from experiments.studies.views import actions, editor, studies, study

urlpatterns = [
    path("", home.home_page, name="home"),
    path("leaderboard", leaderboard.leaderboard_page, name="leaderboard"),
    path("studies", studies.studies_page, name="studies"),
    path("studies/new", editor.new_study, name="new-study"),
    path("studies/draft", editor.study_draft, name="study-draft"),
    path("studies/preview", editor.study_preview, name="study-preview"),
    path("studies/launch", editor.launch_study, name="study-launch"),
    path("studies/<int:pk>/study.yaml", editor.study_yaml, name="study-yaml"),
    path("studies/<int:pk>", study.study_page, name="study"),
    path("studies/<int:pk>/figure", study.study_figure, name="study-figure"),
    path("studies/<int:pk>/figure.<slug:kind>", study.study_figure_file, name="study-figure-file"),
    path("studies/<int:pk>/runs", study.study_runs, name="study-runs"),
    path("studies/portrait", client_data.draft_client_data, name="draft-portrait"),
    path("studies/<int:pk>/portrait", client_data.study_client_data, name="study-portrait"),
    path("studies/<int:pk>/displays", displays.study_displays, name="displays"),
    path("studies/<int:pk>/displays/charts/<slug:name>", displays.display_chart, name="display-chart"),
    path("studies/<int:pk>/displays/charts/<slug:name>.<slug:kind>", displays.display_chart_file, name="display-file"),
    path("studies/<int:pk>/displays/tables/<slug:name>.<slug:kind>", displays.display_table_file, name="display-table"),
    path("studies/<int:pk>/edit", study.edit_study, name="study-edit"),
    path("studies/<int:pk>/deletion", study.deletion_page, name="study-deletion"),
    path("studies/<int:pk>/notes", notes.study_notes, name="study-notes"),
    path("studies/<int:pk>/pins/<slug:action>", bookmarks.pin_action, name="study-pin"),
    path("studies/<int:pk>/baselines/<slug:action>", bookmarks.baseline_action, name="study-baseline"),
    path("studies/<int:pk>/<slug:action>", actions.study_action, name="study-action"),
    path("runs/<int:pk>", run.run_page, name="run"),
    path("runs/<int:pk>/clients", run.run_clients, name="run-clients"),
    path("runs/<int:pk>/figure", charts.run_figure, {"name": "curves"}, name="run-figure"),
    path("runs/<int:pk>/figure.<slug:kind>", charts.run_figure_file, {"name": "curves"}, name="run-figure-file"),
    *(
        path(f"runs/<int:pk>/{name}/figure", charts.run_figure, {"name": name}, name=f"run-{name}-figure")
        for name in ("clients", "costs", "confusion")
    ),
    path("runs/<int:pk>/<slug:name>/figure.<slug:kind>", charts.run_figure_file, name="run-chart-file"),
    path("runs/<int:pk>/log", files.run_log_part, name="run-log"),
    path("runs/<int:pk>/files/<path:name>", files.run_file, name="run-file"),
    path("runs/<int:pk>/portrait", client_data.run_client_data, name="run-portrait"),
    path("runs/<int:pk>/notes", notes.run_notes, name="run-notes"),
    path("notes/<int:pk>/<slug:action>", notes.note_action, name="note-action"),
    path("runs/<int:pk>/<slug:action>", actions.run_action, name="run-action"),
    path("imports", result_imports.imports_page, name="imports"),
    path("imports/parquet", result_imports.read_parquet, name="import-parquet"),
    path("imports/<int:pk>/undo", result_imports.undo, name="import-undo"),
    path("queue", queue.queue_page, name="queue"),
    path("queue/runs/<slug:action>", queue.runs_action, name="queue-runs"),
    path("queue/studies/<slug:action>", queue.studies_action, name="queue-studies"),
    path("compare", page.compare, name="compare"),
    path("compare/charts/<slug:name>", page.chart_json, name="compare-chart"),
    path("compare/charts/<slug:name>.<slug:kind>", downloads.chart_file, name="compare-file"),
    path("compare/tables/<slug:name>.<slug:kind>", downloads.table_file, name="compare-table"),
    path("compare/table.<slug:kind>", downloads.old_table_file, name="compare-table-old"),
    path("shared/<str:secret>", shared.shared, name="shared"),
    path("shared/<str:secret>/charts/<slug:name>", shared.shared_chart, name="shared-chart"),
    path("shared/<str:secret>/charts/<slug:name>.<slug:kind>", shared.shared_chart_file, name="shared-file"),
    path("shared/<str:secret>/tables/<slug:name>.<slug:kind>", shared.shared_table_file, name="shared-table"),
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
    path("me", me.me, name="me"),
    path("me/password", log_in.ChangePassword.as_view(), name="change-password"),
    path("me/tokens", me.token_new, name="token-new"),
    path("me/tokens/<int:pk>/revoke", me.token_end, name="token-revoke"),
    path("people", people.accounts, name="people"),
    path("people/new", people.account_new, name="person-new"),
    path("people/<int:pk>/password-link", people.account_password_link, name="password-link"),
    path("people/<int:pk>/<slug:action>", people.account_action, name="person-action"),
    path("docs", documentation.documentation, name="documentation"),
    path("docs/files/<path:name>", documentation.document_picture, name="document-picture"),
    path("docs/<slug:name>", documentation.document, name="document"),
    path("audit", audit.audit, name="audit"),
    path("choose-password/<str:uidb64>/<str:token>", log_in.ChoosePassword.as_view(), name="choose-password"),
    path("log-in", log_in.LogIn.as_view(), name="login"),
    path("log-in/sign-on", sign_on.sign_on_begin, name="sign-on"),
    path("log-in/sign-on/return", sign_on.sign_on_return, name="sign-on-return"),
    path("log-out", LogoutView.as_view(), name="logout"),
]
