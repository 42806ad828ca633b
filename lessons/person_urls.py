"""Addresses of a person's own pages."""

from django.urls import URLPattern, URLResolver, path

from lessons import person

app_name = "you"

urlpatterns: list[URLPattern | URLResolver] = [
    path("you/", person.shown, name="shown"),
    path("you/notes/", person.notes, name="notes"),
    path("you/notes/<slug:lesson>/<slug:station>/", person.note, name="note"),
]
