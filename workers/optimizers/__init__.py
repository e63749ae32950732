"""Components, related ones in one file; see `workers.catalog.component` for what each declares."""
