"""The site's entry in Django."""

from django.apps import AppConfig


class CoursewareConfig(AppConfig):
    name = "courseware"

    def ready(self) -> None:
        from courseware import checks  # noqa: F401, PLC0415  importing it registers the checks
