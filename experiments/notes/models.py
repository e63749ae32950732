from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from experiments.results.models import Run
from experiments.studies.models import Study


class Note(models.Model):
    """Markdown on a study or on a run. `version` grows with every edit: nobody overwrites what they have not read."""

    study = models.ForeignKey(Study, models.CASCADE, null=True, blank=True, related_name="notes")
    run = models.ForeignKey(Run, models.CASCADE, null=True, blank=True, related_name="notes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="notes")
    text = models.TextField()
    version = models.IntegerField(default=1)
    created = models.DateTimeField(auto_now_add=True)
    edited = models.DateTimeField(null=True, blank=True)
    editor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(study__isnull=False, run__isnull=True) | Q(study__isnull=True, run__isnull=False),
                name="note_on_one_thing",
            )
        ]

    def __str__(self) -> str:
        return f"note {self.pk}"

    @property
    def subject(self) -> str:
        """What it is about: "study 12", "run 7"."""
        return f"study {self.study_id}" if self.study_id else f"run {self.run_id}"
