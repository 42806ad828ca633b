"""The site: wiring, people, set-up."""

from courseware.celery import app as celery_app

__all__ = ["celery_app"]
