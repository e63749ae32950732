from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from experiments.views import actions, compare, datasets, editor, fleet, portraits, queue, runs, studies, study

log_in = LoginView.as_view(template_name="pages/log_in.html", redirect_authenticated_user=True)

urlpatterns = [
    path("", studies.studies, name="studies"),
    path("studies/new", editor.new_study, name="new-study"),
    path("studies/draft", editor.study_draft, name="study-draft"),
    path("studies/launch", editor.launch, name="study-launch"),
    path("studies/<int:pk>", study.study, name="study"),
    path("studies/<int:pk>/figure", study.study_figure, name="study-figure"),
    path("studies/portrait", portraits.draft_portrait, name="draft-portrait"),
    path("studies/<int:pk>/portrait", portraits.study_portrait, name="study-portrait"),
    path("studies/<int:pk>/<slug:action>", actions.study_action, name="study-action"),
    path("runs/<int:pk>", runs.run, name="run"),
    path("runs/<int:pk>/figure", runs.run_figure, name="run-figure"),
    path("runs/<int:pk>/portrait", portraits.run_portrait, name="run-portrait"),
    path("runs/<int:pk>/<slug:action>", actions.run_action, name="run-action"),
    path("queue", queue.queue_page, name="queue"),
    path("compare", compare.compare, name="compare"),
    path("compare/figure", compare.compare_figure, name="compare-figure"),
    path("data-sets", datasets.datasets, name="datasets"),
    path("data-sets/npz/upload", datasets.dataset_upload, name="dataset-upload"),
    path("data-sets/<slug:name>/look", datasets.dataset_look, name="dataset-look"),
    path("data-sets/<slug:name>/<slug:action>", datasets.dataset_action, name="dataset-action"),
    path("portraits/<slug:key>.png", portraits.portrait_pictures, name="portrait-pictures"),
    path("workers", fleet.workers_page, name="workers"),
    path("pulse", fleet.pulse_part, name="pulse"),
    path("log-in", log_in, name="login"),
    path("log-out", LogoutView.as_view(), name="logout"),
]
