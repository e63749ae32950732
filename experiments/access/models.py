"""People, what they may do, and what was done."""

from __future__ import annotations

from django.conf import settings
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


class ProviderAccount(models.Model):
    """Who a person is for an OpenID Connect provider: its address and the name that it never gives to anybody else."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="provider_accounts")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    created = models.DateTimeField(auto_now_add=True)
    groups_lost = models.DateTimeField(null=True, blank=True)
    """Since when the person has no group with a role: the account is disabled until they have one, not for good."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="provider_account_once")]


class Scope(models.TextChoices):
    READ = "read"
    WRITE = "write"


class Token(models.Model):
    """A program's key to the REST API. Only its SHA-256 is kept; `prefix` is what a person recognises it by."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.READ)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True, blank=True)
    used = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.CheckConstraint(condition=models.Q(scope__in=Scope.values), name="token_scope_known")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}...)"


class AuditEntry(models.Model):
    """Who did what, kept when the person or the thing is gone."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    actor_name = models.CharField(max_length=150)
    action = models.CharField(max_length=50)
    subject = models.CharField(max_length=200)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.actor_name} {self.action} {self.subject}"


class ShareLink(models.Model):
    """One comparison, readable without an account until it expires or is revoked. Only the secret's SHA-256 is kept."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="share_links")
    title = models.CharField(max_length=200, blank=True)
    query = models.TextField()
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.title or 'comparison'} ({self.prefix}...)"
