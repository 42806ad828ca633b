"""Addresses below /labs/."""

from django.urls import URLPattern, URLResolver, include, path

from labs import stream, views

app_name = "labs"

_attempt = "attempts/<uuid:public_id>/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.index, name="index"),
    path(_attempt, views.show, name="room"),
    path(_attempt + "parts/", views.parts, name="parts"),
    path(_attempt + "events/", stream.events, name="events"),
    path(_attempt + "command/", views.command, name="command"),
    path(_attempt + "restart/", views.restart, name="restart"),
    path(_attempt + "price/", views.price, name="price"),
    path(_attempt + "predict/", views.predict, name="predict"),
    path(_attempt + "beliefs/", views.believe, name="beliefs"),
    path(_attempt + "diagnose/", views.diagnose, name="diagnose"),
    path(_attempt + "explain/", views.explain, name="explain"),
    path(_attempt + "finish/", views.finish, name="finish"),
    path(_attempt + "cancel/", views.cancel, name="cancel"),
    path(_attempt + "again/", views.again, name="again"),
    path(_attempt + "give-up/", views.give_up, name="give-up"),
    path(_attempt + "debrief/", views.show_debrief, name="debrief"),
    # The grader's desk.
    path("", include("labs.review_urls")),
    # Last: a slug fits anything that is left.
    path("<slug:slug>/", views.lab, name="lab"),
    path("<slug:slug>/start/", views.start, name="start"),
]
