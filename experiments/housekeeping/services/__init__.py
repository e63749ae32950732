"""The queue of jobs, the processes that compute for them, and the Celery task that carries them out."""
