"""The web server's entry: `uvicorn config.asgi:application`."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from config.http_limits import BodyLimit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = BodyLimit(get_asgi_application(), settings.MAX_UPLOAD)
