from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from experiments.studies.models import Study


class Pin(models.Model):
    """A study at the top of home: of one person, or of everyone where `person` is empty."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="pins")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="pins", db_index=False
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["person", "study"], name="pin_once"),
            models.UniqueConstraint(fields=["study"], condition=Q(person=None), name="pin_for_all_once"),
        ]

    @property
    def for_all(self) -> bool:
        return self.person_id is None


class Baseline(models.Model):
    """A cell of a study that comparisons can be shown against."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="baselines")
    cell = models.CharField(max_length=64)
    starred_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["study", "cell"], name="baseline_once")]

    def __str__(self) -> str:
        return f"baseline {self.pk}"
