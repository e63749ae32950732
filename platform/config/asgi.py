"""The web server's entry: `uvicorn config.asgi:application`."""

import gc
import os

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import get_resolver

from config.home import keep_files_private
from config.http_limits import BodyLimit
from config.request_slots import RequestSlots

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
keep_files_private()
django = get_asgi_application()

# Models can be imported only now.
from experiments.access.sender_check import check_sender  # noqa: E402

application = BodyLimit(RequestSlots(django, settings.WEB_REQUESTS), settings.MAX_UPLOAD, check_sender)

get_resolver().url_patterns  # noqa: B018  (imports every page, so that nobody waits for that)
# What was imported stays, and a page of a large study makes a hundred thousand objects that live as long as it: the
# collector need not walk over either again and again.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 10, 10)
