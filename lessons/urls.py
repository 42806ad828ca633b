"""Addresses below /lessons/."""

from django.urls import URLPattern, URLResolver, path

from lessons import views

app_name = "lessons"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.index, name="index"),
    path("<slug:lesson>/", views.lesson, name="lesson"),
    path("<slug:lesson>/<slug:station>/", views.station, name="station"),
    path("<slug:lesson>/<slug:station>/read/", views.read, name="read"),
    path("<slug:lesson>/checks/<slug:check>/", views.answer, name="answer"),
    path("<slug:lesson>/predictions/<slug:prediction>/", views.prediction, name="prediction"),
    path("<slug:lesson>/predictions/<slug:prediction>/seen/", views.seen, name="seen"),
    path("<slug:lesson>/predictions/<slug:prediction>/again/", views.again, name="again"),
]
