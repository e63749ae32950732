"""`manage.py doctor`: looks at everything that can be wrong with an installation, changes nothing, says what to do."""

from experiments.operations.doctor.examination import CHECKS, examine
from experiments.operations.doctor.findings import Finding, Section, Severity

__all__ = ["CHECKS", "Finding", "Section", "Severity", "examine"]
