"""The app's entry in Django."""

from django.apps import AppConfig


class LabsConfig(AppConfig):
    name = "labs"

    def ready(self) -> None:
        from labs import checks  # noqa: F401, PLC0415  (registers the checks)
