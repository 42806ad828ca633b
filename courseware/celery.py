"""The Celery app; every option of it is a CELERY_* setting."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "courseware.settings")

app = Celery("courseware")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
