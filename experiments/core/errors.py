"""What services refuse. `experiments.api.errors` maps each to its HTTP status."""

from __future__ import annotations

from workers.errors import TributaryError


class NotAllowedError(TributaryError):
    """The person has no right to do this."""


class ConflictError(TributaryError):
    """The thing is not in a state in which this can be done."""


class PendingError(TributaryError):
    """It is being computed in the background: ask again in some seconds."""


class GoneError(TributaryError):
    """Somebody deleted the thing meanwhile."""


class BusyError(TributaryError):
    """Too much at once; `seconds` says when the next request is welcome."""

    def __init__(self, detail: str, seconds: int) -> None:
        super().__init__(detail)
        self.seconds = seconds


class StaleLeaseError(TributaryError):
    """The run has gone to another worker, was deleted or has ended: nothing of this attempt counts any more."""

    def __init__(self) -> None:
        super().__init__("This attempt no longer holds the run.")
