"""From queued to done: the Celery task, the slot it watches, and the runner process that computes."""
