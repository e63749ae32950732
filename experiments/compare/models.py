from __future__ import annotations

from django.conf import settings
from django.db import models


class SavedView(models.Model):
    """A comparison with a name: its choices as they stand in the address."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="views")
    name = models.CharField(max_length=200)
    query = models.TextField()
    shared = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name
