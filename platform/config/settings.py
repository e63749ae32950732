"""Django's settings. Everything that differs between machines is read in `config.env`."""

from __future__ import annotations

from config import env
from config.database.address import databases_setting
from config.env import default_allowed_hosts
from config.home import Home
from config.logs import logging_settings
from config.services.state import running_url
from config.sign_on import sign_on_setting
from config.static import static_version

ROOT = env.ROOT
HOME = Home(env.HOME.read())
DEBUG = env.DEBUG.read()
SECRET_KEY = env.SECRET_KEY.read() or HOME.secret("secret-key")
HOST, PORT = env.HOST.read(), env.PORT.read()
ALLOWED_HOSTS = env.ALLOWED_HOSTS.read() or default_allowed_hosts(HOST)
CSRF_TRUSTED_ORIGINS = env.CSRF_TRUSTED_ORIGINS.read()

DATABASE_URL = env.DATABASE_URL.read() or running_url(HOME, "postgres")
REDIS_URL = env.REDIS_URL.read() or running_url(HOME, "redis")
DATABASES = databases_setting(DATABASE_URL)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "django_htmx",
    "ninja",
    "experiments",
]
MIDDLEWARE = [
    "experiments.operations.metrics.RequestTimesMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.http_limits.SecurityHeadersMiddleware",
    "config.static.StaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "experiments.web.refusals.LogInMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "experiments.web.refusals.RefusedMethodMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
FEATURES_WITH_TAGS = ("bookmarks", "compare", "datasets", "documentation", "notes", "presets", "queue", "results")
"""Features with template tags of their own."""
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "experiments.access.views.log_in.log_in_ways",
            ],
            "libraries": {
                "tributary": "experiments.web.template_tags",
                **{name: f"experiments.{name}.template_tags" for name in FEATURES_WITH_TAGS},
            },
        },
    }
]

AUTH_USER_MODEL = "experiments.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
SIGN_ON, PASSWORD_LOGIN = sign_on_setting(), env.PASSWORD_LOGIN.read()
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = f"/static/{static_version(ROOT / 'static')}/"
STATICFILES_DIRS = [ROOT / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 0

HTTPS = env.HTTPS.read()
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]  # asked by the machine itself, behind the proxy
# Other servers below the lab's domain, and browsers' lists of such domains, are not this server's to decide about.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

WEB_PROCESSES, WEB_REQUESTS = env.WEB_PROCESSES.read(), env.WEB_REQUESTS.read()
MAX_RUNS, MAX_WAITING = env.MAX_RUNS.read(), env.MAX_WAITING.read()
IMPORT_FOLDERS = env.IMPORT_FOLDERS.read()
MAX_UPLOAD = env.MAX_UPLOAD.read() * 1_000_000
RATE_READS, RATE_WRITES = env.RATE_READS.read(), env.RATE_WRITES.read()
LEASE = env.LEASE.read()
LOGGED_SILENCE = env.LOGGED_SILENCE.read()
RUN_SECONDS, RUN_SILENCE, RUN_MEMORY = env.RUN_SECONDS.read(), env.RUN_SILENCE.read(), env.RUN_MEMORY.read()
RUN_FILES, CHECKPOINT_SECONDS = env.RUN_FILES.read(), env.CHECKPOINT_SECONDS.read()
APP_UPLOADS, APP_INSTALL = env.APP_UPLOADS.read(), env.APP_INSTALL.read()
KEEP_CHECKPOINTS, KEEP_LOGS = env.KEEP_CHECKPOINTS.read(), env.KEEP_LOGS.read()
KEEP_CLIENTS = env.KEEP_CLIENTS.read()
for read_by_compute in (env.MIRROR, env.STORE, env.STORE_CACHE):
    read_by_compute.read()  # refused here where malformed

# Set for each worker process by the supervisor or by the compose file.
WORKER_DEVICE = env.DEVICE.read()
WORKER_THREADS = env.THREADS.read()
AGENT = env.AGENT.read()

LOGGING = logging_settings(env.LOG_STYLE.read())
