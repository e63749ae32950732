"""The Django project: settings, addresses, Celery app, embedded services and the supervisor."""
