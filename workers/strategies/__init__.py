"""Components, related ones in one file: what `name.py` declares, `_name.py` computes.

See `workers.catalog.component` for what each declares.
"""
