"""Every model, under one name: each feature defines its own."""

from experiments.access.models import AuditEntry, Role, Scope, ShareLink, Token, User
from experiments.compare.models import SavedView
from experiments.datasets.models import DatasetJob, JobKind, JobState
from experiments.queue.models import Device, Worker, WorkerSample
from experiments.results.models import Attempt, Metric, Outcome, Round, Run, RunState
from experiments.studies.models import LaunchKey, Membership, Study

__all__ = [
    "Attempt",
    "AuditEntry",
    "DatasetJob",
    "Device",
    "JobKind",
    "JobState",
    "LaunchKey",
    "Membership",
    "Metric",
    "Outcome",
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
