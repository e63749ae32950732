"""Every number of the lab as tables that stream: read from one snapshot, written as CSV, JSON, NDJSON or Parquet.

Imported where an export begins, not with the web server: pyarrow takes 0.2 s and 50 MB.
"""
