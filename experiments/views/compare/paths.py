from django.urls import path

from experiments.views.compare import downloads, page

urlpatterns = [
    path("compare", page.compare, name="compare"),
    path("compare/charts/<slug:name>", page.chart, name="compare-chart"),
    path("compare/charts/<slug:name>.csv", downloads.chart_csv, name="compare-csv"),
    path("compare/table.<slug:kind>", downloads.table_file, name="compare-table"),
]
