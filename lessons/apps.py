"""The app's entry in Django."""

from django.apps import AppConfig


class LessonsConfig(AppConfig):
    name = "lessons"
