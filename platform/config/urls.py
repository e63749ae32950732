"""The addresses of the whole platform: REST first, then pages."""

from django.urls import include, path

handler400 = "experiments.web.requests.bad_request"
urlpatterns = [path("", include("experiments.api.urls")), path("", include("experiments.urls"))]
