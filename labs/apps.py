"""The app's entry in Django."""

from django.apps import AppConfig


class LabsConfig(AppConfig):
    name = "labs"
