"""The app's entry in Django."""

from django.apps import AppConfig


class LessonsConfig(AppConfig):
    name = "lessons"

    def ready(self) -> None:
        """Register the check of the content."""
        from lessons import checks  # noqa: F401, PLC0415
