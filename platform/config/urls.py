from django.urls import include, path

handler400 = "experiments.views.refusals.bad_request"
urlpatterns = [path("", include("experiments.api.urls")), path("", include("experiments.urls"))]
