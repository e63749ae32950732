from experiments.models.datasets import DatasetJob, JobKind, JobState
from experiments.models.metrics import Metric, Round
from experiments.models.people import Role, User
from experiments.models.runs import Attempt, Outcome, Run, RunState, Worker
from experiments.models.studies import Device, Membership, Study

__all__ = [
    "Attempt",
    "DatasetJob",
    "Device",
    "JobKind",
    "JobState",
    "Membership",
    "Metric",
    "Outcome",
    "Role",
    "Round",
    "Run",
    "RunState",
    "Study",
    "User",
    "Worker",
]
