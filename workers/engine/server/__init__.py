"""The server's side of a run: what a strategy builds, who takes part in a round, aggregation and the loop of rounds."""

from typing import TYPE_CHECKING

if not TYPE_CHECKING:
    from workers.catalog.plugins.moved_modules import moved_names_of

    __getattr__ = moved_names_of(__name__)  # plugins import names from the time when this was one file
