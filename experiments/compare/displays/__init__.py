"""The displays of published studies, put together for any study that has such axes."""
