from django.urls import path

from experiments.views.compare import downloads, page, shared

urlpatterns = [
    path("compare", page.compare, name="compare"),
    path("compare/charts/<slug:name>", page.chart, name="compare-chart"),
    path("compare/charts/<slug:name>.csv", downloads.chart_csv, name="compare-csv"),
    path("compare/table.<slug:kind>", downloads.table_file, name="compare-table"),
    path("shared/<str:secret>", shared.shared, name="shared"),
    path("shared/<str:secret>/charts/<slug:name>", shared.shared_chart, name="shared-chart"),
    path("shared/<str:secret>/charts/<slug:name>.csv", shared.shared_csv, name="shared-csv"),
    path("shared/<str:secret>/table.<slug:kind>", shared.shared_table, name="shared-table"),
]
