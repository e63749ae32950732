"""One file per component; see `workers.catalog.component` for what each declares."""
