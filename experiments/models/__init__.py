from experiments.models.access import AuditEntry, LaunchKey, SavedView, Scope, ShareLink, Token
from experiments.models.datasets import DatasetJob, JobKind, JobState
from experiments.models.metrics import Metric, Round
from experiments.models.people import Role, User
from experiments.models.runs import Attempt, Outcome, Run, RunState, Worker, WorkerSample
from experiments.models.studies import Device, Membership, Study

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
