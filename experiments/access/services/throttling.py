"""How often one may ask: guessing passwords is slow here, and REST has a rate for each person."""

from __future__ import annotations

import logging
import math
import secrets
import time
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import Count, Q
from django.db.models.functions import Now
from redis import Redis
from redis.exceptions import RedisError

from experiments.access.services.audit import audit_record
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import BusyError
from experiments.core.json_values import plain_text
from experiments.models import AuditEntry, User

WINDOW = timedelta(minutes=15)
LOG_IN_FAILED, LOGGED_IN = "log-in.failed", "log-in"
MOST_TOGETHER, MOST_FROM_ADDRESS, MOST_FOR_NAME = 5, 30, 60
LOG_IN_LIMITS = {"together": MOST_TOGETHER, "address": MOST_FROM_ADDRESS, "name": MOST_FOR_NAME}
LOG_IN_CLOSED = "Too many failed log-ins. Wait 15 minutes, or ask an admin for a new password."


def log_in_begin(*, name: str, address: str, device: str = "") -> AuditEntry | None:
    """Notes a try as failed, before the password is looked at; None where the door is closed.

    Tries that come at once are counted one after another, so that no more of them are looked at than the limit allows.
    """
    detail = {"address": address, "device": device} if device else {"address": address}
    with transaction.atomic():
        lock_in_transaction(Lock.LOG_IN)
        if is_log_in_closed(name=name, address=address, device=device):
            return None
        return audit_record(actor=None, action=LOG_IN_FAILED, subject=log_in_subject(name), **detail)


def log_in_succeed(*, attempt: AuditEntry, person: User) -> None:
    attempt.action, attempt.actor, attempt.actor_name = LOGGED_IN, person, person.username
    attempt.subject = log_in_subject(person.username)
    attempt.save(update_fields=["action", "actor", "actor_name", "subject"])


def record_log_in(*, person: User, address: str, **detail: str) -> None:
    """One that needed no password: with a one-time link, or with a provider."""
    audit_record(actor=person, action=LOGGED_IN, subject=log_in_subject(person.username), address=address, **detail)


def is_log_in_closed(*, name: str, address: str, device: str) -> bool:
    """A browser that the person has used before has a limit of its own: no stranger's tries keep them out of it.

    Of others, failures since the name's last success from there count towards the narrow limit; all, towards the rest.
    """
    subject = log_in_subject(name)
    recent = AuditEntry.objects.filter(at__gt=Now() - WINDOW)
    place = Q(detail__device=device) if device else Q(detail__address=address, detail__device__isnull=True)
    last_log_in = recent.filter(place, action=LOGGED_IN, subject=subject).order_by("-id").first()
    here = place & Q(subject=subject, id__gt=last_log_in.pk if last_log_in else 0)
    elsewhere = Q(detail__device__isnull=True)
    counts = recent.filter(action=LOG_IN_FAILED).aggregate(
        together=Count("id", filter=here),
        address=Count("id", filter=elsewhere & Q(detail__address=address)),
        name=Count("id", filter=elsewhere & Q(subject=subject)),
    )
    limits = {"together": MOST_TOGETHER} if device else LOG_IN_LIMITS
    return any(counts[each] >= most for each, most in limits.items())


def log_in_subject(name: str) -> str:
    """As it is stored: names differ in case only by accident."""
    return plain_text(name).casefold()[:150]


DEVICE_SALT = "a browser that a person has logged in with"
DEVICE_DAYS = 365


def device_secret(person: User) -> str:
    """What a browser keeps after a log-in, to be told from a stranger's at the next one."""
    return signing.dumps([log_in_subject(person.username), secrets.token_urlsafe(9)], salt=DEVICE_SALT)


def known_device(secret: str, name: str) -> str:
    """The browser's mark where that name has logged in with it, otherwise nothing."""
    try:
        subject, device = signing.loads(secret, salt=DEVICE_SALT, max_age=timedelta(days=DEVICE_DAYS))
    except (signing.BadSignature, ValueError):
        return ""
    return str(device) if subject == log_in_subject(name) else ""


logger = logging.getLogger(__name__)
PATIENCE_SECONDS = 0.25
PAUSE_SECONDS = 5.0
MINUTE = 60_000
TAKE_ROOM = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000
local interval, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local free = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now) + interval
local wait = free - window - now
if wait > 0 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.3f', free), 'PX', math.ceil(free - now))
return 0
"""


class RequestCounter:
    """One Redis. While it does not answer it is left alone for some seconds: no request waits for it in vain."""

    def __init__(self, url: str) -> None:
        client = Redis.from_url(url, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS)
        self.script: Any = client.register_script(TAKE_ROOM)
        self.quiet_until = 0.0

    def wait_for(self, name: str, per_minute: int) -> int:
        """Milliseconds until there is room for one more; 0 takes the room."""
        if time.monotonic() < self.quiet_until:
            return 0
        try:
            return int(self.script(keys=[name], args=[MINUTE / per_minute, MINUTE]))
        except (RedisError, OSError) as error:
            self.quiet_until = time.monotonic() + PAUSE_SECONDS
            logger.warning("Requests are not counted while Redis is away: %s", error)
            return 0


@cache
def request_counter(url: str) -> RequestCounter:
    return RequestCounter(url)


def check_rate_limit(*, who: str, write: bool) -> None:
    """Counts one request, or refuses it with the time to wait. A limit of 0 is none."""
    per_minute = settings.RATE_WRITES if write else settings.RATE_READS
    if not per_minute or not settings.REDIS_URL:
        return
    name = f"tributary:rate:{'write' if write else 'read'}:{who}"
    if wait := request_counter(settings.REDIS_URL).wait_for(name, per_minute):
        seconds = math.ceil(wait / 1000)
        raise BusyError(f"More than {per_minute} requests a minute. Wait {seconds} s, then go on.", seconds)
