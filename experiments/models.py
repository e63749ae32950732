"""Every model, under one name: each feature defines its own."""

from experiments.access.models import AuditEntry, ProviderAccount, Role, Scope, ShareLink, Token, User
from experiments.bookmarks.models import Baseline, Pin
from experiments.compare.models import SavedView
from experiments.housekeeping.models import Job, JobKind, JobState
from experiments.notes.models import Note
from experiments.queue.models import Device, Worker, WorkerSample
from experiments.results.models import Attempt, Curve, CurveBlock, Metric, MetricRow, Outcome, Round, Run, RunState
from experiments.studies.models import LaunchKey, Membership, Study

__all__ = [
    "Attempt",
    "AuditEntry",
    "Baseline",
    "Curve",
    "CurveBlock",
    "Device",
    "Job",
    "JobKind",
    "JobState",
    "LaunchKey",
    "Membership",
    "Metric",
    "MetricRow",
    "Note",
    "Outcome",
    "Pin",
    "ProviderAccount",
    "Role",
    "Round",
    "Run",
    "RunState",
    "SavedView",
    "Scope",
    "ShareLink",
    "Study",
    "Token",
    "User",
    "Worker",
    "WorkerSample",
]
