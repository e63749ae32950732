"""The web server's entry: `uvicorn config.asgi:application`."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from config.home import keep_files_private
from config.http_limits import BodyLimit
from config.request_slots import RequestSlots
from config.serving import prepare_to_serve

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
keep_files_private()
django = get_asgi_application()

# Models can be imported only now.
from experiments.access.sender_check import check_sender  # noqa: E402

application = BodyLimit(RequestSlots(django, settings.WEB_REQUESTS), settings.MAX_UPLOAD, check_sender)

prepare_to_serve()
