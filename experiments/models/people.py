from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models


class Role(models.TextChoices):
    VIEWER = "viewer", "Viewer: reads everything"
    MEMBER = "member", "Member: launches, manages own studies"
    ADMIN = "admin", "Admin: manages everything and everyone"


class User(AbstractUser):
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.MEMBER)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(role__in=Role.values), name="user_role_known")]

    @property
    def may_launch(self) -> bool:
        return self.is_active and self.role in (Role.MEMBER, Role.ADMIN)

    @property
    def is_lab_admin(self) -> bool:
        return self.is_active and self.role == Role.ADMIN
