"""What services refuse. `experiments.api.errors` maps each to its HTTP status."""

from __future__ import annotations

from workers.errors import TributaryError


class NotAllowedError(TributaryError):
    """The person has no right to do this."""


class ConflictError(TributaryError):
    """The thing is not in a state in which this can be done."""


class GoneError(TributaryError):
    """Somebody deleted the thing meanwhile."""


class StaleLeaseError(TributaryError):
    """The run has gone to another worker, was deleted or has ended: nothing of this attempt counts any more."""

    def __init__(self) -> None:
        super().__init__("This attempt no longer holds the run.")
