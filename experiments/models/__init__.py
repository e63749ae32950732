from experiments.models.metrics import Metric, Round
from experiments.models.people import Role, User
from experiments.models.runs import Attempt, Run, RunState, Worker
from experiments.models.studies import Device, Membership, Study

__all__ = [
    "Attempt",
    "Device",
    "Membership",
    "Metric",
    "Role",
    "Round",
    "Run",
    "RunState",
    "Study",
    "User",
    "Worker",
]
