"""One file per component; see `workers.component` for what each declares."""
