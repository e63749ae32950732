"""How far studies are: counts by state, rounds, and the time left at the present speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Min, Q, Sum
from django.db.models.functions import Coalesce, Now

from experiments.models import Membership, RunState, Study

TIMED = Q(run__started__isnull=False, run__state__in=[RunState.RUNNING, RunState.DONE])
# A run that is resumed starts anew; what its attempts before took is in `earlier_times`.
BUSY_TIME = Coalesce(F("run__finished"), Now()) - F("run__started")
PER_STATE: dict[str, Any] = {
    "runs": Count("run_id"),
    # Those that a worker claimed ahead have not begun.
    "begun": Count("run_id", filter=Q(run__started__isnull=False)),
    "done_rounds": Sum("run__rounds_done"),
    "all_rounds": Sum("run__rounds_total"),
    "timed_rounds": Sum("run__rounds_done", filter=TIMED & Q(reused=False)),
    "busy": Sum(BUSY_TIME, filter=TIMED & Q(reused=False)),
    "first": Min("run__started", filter=Q(reused=False)),
    "last": Max("run__finished", filter=Q(reused=False)),
    # Both ends of the alphabet tell whether there is only one, without sorting all.
    "reason": Max("run__reason"),
    "other_reason": Min("run__reason", filter=~Q(run__reason="")),
}


@dataclass(frozen=True)
class Progress:
    """A study's runs by state. `left` is None where nothing runs; `took` and `ended` where nothing has finished, or
    what has was computed for another study."""

    counts: Counter[str] = field(default_factory=Counter)
    paused: bool = False
    cancelled: bool = False
    rounds_done: int = 0
    rounds_total: int = 0
    left: timedelta | None = None
    took: timedelta | None = None
    ended: datetime | None = None
    reason: str = ""

    @property
    def runs(self) -> int:
        return self.counts.total()

    @property
    def finished(self) -> int:
        return self.counts[RunState.DONE]

    @property
    def failed(self) -> int:
        return self.counts[RunState.FAILED]

    @property
    def active(self) -> bool:
        return bool(self.counts[RunState.RUNNING] or self.counts[RunState.QUEUED])

    @property
    def state(self) -> str:
        """One word for the whole: what still moves comes first, then what went wrong."""
        if self.cancelled and self.finished < self.runs:
            return "cancelled"
        if self.paused and self.counts[RunState.QUEUED]:
            return "paused"
        order = (RunState.RUNNING, RunState.QUEUED, RunState.FAILED, RunState.CANCELLED)
        return next((state.value for state in order if self.counts[state]), "done" if self.runs else "empty")


def run_counts(study: int) -> Counter[str]:
    """Its runs by state, and nothing else."""
    members = Membership.objects.filter(study_id=study).order_by()
    return Counter(dict(members.values_list("run__state").annotate(runs=Count("run_id"))))


def progress_of(studies: Sequence[Study]) -> dict[int, Progress]:
    """One query for all of them; a study without runs has an empty progress."""
    rows: dict[int, list[dict[str, Any]]] = {study.pk: [] for study in studies}
    members = Membership.objects.filter(study_id__in=list(rows)).order_by()
    for row in members.values("study_id", state=F("run__state")).annotate(**PER_STATE):
        rows[row["study_id"]].append(row)
    earlier = earlier_times([pk for pk in rows if any(row["state"] == RunState.RUNNING for row in rows[pk])])
    return {study.pk: sum_progress(study, rows[study.pk], earlier.get(study.pk, timedelta())) for study in studies}


def earlier_times(studies: Sequence[int]) -> dict[int, timedelta]:
    """What ended attempts of runs took that went on later, by study; the time in between is nobody's work."""
    if not studies:
        return {}
    members = Membership.objects.filter(TIMED, study_id__in=studies, reused=False).order_by()
    ended = members.filter(run__attempts__ended__lte=F("run__started"))
    took = Sum(F("run__attempts__ended") - F("run__attempts__started"))
    return dict(ended.values_list("study_id").annotate(took=took))


def sum_progress(study: Study, rows: Sequence[dict[str, Any]], earlier: timedelta) -> Progress:
    by_state = {row["state"]: row for row in rows}
    counts = Counter({state: row["runs"] for state, row in by_state.items()})
    ends = [row["last"] for row in rows]
    return Progress(
        counts=counts,
        paused=study.paused,
        cancelled=study.cancelled,
        rounds_done=sum(row["done_rounds"] for row in rows),
        rounds_total=sum(row["all_rounds"] for row in rows),
        left=time_left(by_state, earlier),
        took=time_taken([row["first"] for row in rows], ends),
        ended=max((end for end in ends if end), default=None),
        reason=only_reason(by_state.get(RunState.FAILED)),
    )


def only_reason(failed: dict[str, Any] | None) -> str:
    """Its first line, where all that failed did so for the same reason."""
    alike = failed is not None and failed["reason"] == failed["other_reason"]
    return failed["reason"].strip().split("\n")[0] if failed and alike else ""


def time_left(by_state: dict[str, dict[str, Any]], earlier: timedelta) -> timedelta | None:
    """Rounds still to do, at the seconds that a round took so far, on as many workers as are at it now."""
    timed = sum(row["timed_rounds"] or 0 for row in by_state.values())
    busy = sum(((row["busy"] or timedelta()) for row in by_state.values()), earlier)
    running = by_state[RunState.RUNNING]["begun"] if RunState.RUNNING in by_state else 0
    waiting = [row for state, row in by_state.items() if state in (RunState.RUNNING, RunState.QUEUED)]
    rest = sum(row["all_rounds"] - row["done_rounds"] for row in waiting)
    return busy / timed * rest / running if timed and running else None


def time_taken(firsts: Sequence[datetime | None], lasts: Sequence[datetime | None]) -> timedelta | None:
    started = [each for each in firsts if each]
    ended = [each for each in lasts if each]
    return max(ended) - min(started) if started and ended else None
