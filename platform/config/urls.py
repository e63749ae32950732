from django.urls import include, path

urlpatterns = [path("", include("experiments.api.urls")), path("", include("experiments.urls"))]
