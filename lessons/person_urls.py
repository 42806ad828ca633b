"""Addresses of a person's own pages."""

from django.urls import URLPattern, URLResolver, path

from lessons import person, repeat_views

app_name = "you"

urlpatterns: list[URLPattern | URLResolver] = [
    path("you/", person.shown, name="shown"),
    path("you/data.json", person.data, name="data"),
    path("you/notes/", person.notes, name="notes"),
    path("you/notes/<slug:lesson>/<slug:station>/", person.note, name="note"),
    path("review/", repeat_views.today, name="review"),
    path("review/mail/", repeat_views.mail, name="review-mail"),
    path("review/<slug:lesson>/checks/<slug:key>/", repeat_views.check, name="review-check"),
    path(
        "review/<slug:lesson>/predictions/<slug:key>/",
        repeat_views.prediction,
        name="review-prediction",
    ),
]
