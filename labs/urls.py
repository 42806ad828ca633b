"""Addresses below /labs/."""

from django.urls import URLPattern, URLResolver, include, path

from labs import stream
from labs.views import (
    commands,
    commitments,
    debrief_page,
    endings,
    insight_pages,
    lab_pages,
    lease_page,
    points_page,
    regrade_pages,
    remarking_pages,
    room_page,
)

app_name = "labs"

_attempt = "attempts/<uuid:public_id>/"
_remarking = "remarkings/<uuid:public_id>/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", lab_pages.index, name="index"),
    path(_attempt, room_page.show, name="room"),
    path(_attempt + "parts/", room_page.parts, name="parts"),
    path(_attempt + "events/", stream.events, name="events"),
    path(_attempt + "command/", commands.command, name="command"),
    path(_attempt + "restart/", commands.restart, name="restart"),
    path(_attempt + "price/", commands.price, name="price"),
    path(_attempt + "predict/", commitments.predict, name="predict"),
    path(_attempt + "beliefs/", commitments.believe, name="beliefs"),
    path(_attempt + "diagnose/", commitments.diagnose, name="diagnose"),
    path(_attempt + "explain/", commitments.explain, name="explain"),
    path(_attempt + "finish/", endings.finish, name="finish"),
    path(_attempt + "cancel/", commands.cancel, name="cancel"),
    path(_attempt + "again/", commands.again, name="again"),
    path(_attempt + "lease/", lease_page.show, name="lease"),
    path(_attempt + "lease/ask/", lease_page.ask, name="lease-ask"),
    path(_attempt + "lease/extend/", lease_page.extend, name="lease-extend"),
    path(_attempt + "lease/cancel/", lease_page.cancel, name="lease-cancel"),
    path(_attempt + "give-up/", endings.give_up, name="give-up"),
    path(_attempt + "debrief/", debrief_page.show, name="debrief"),
    path(_attempt + "story/", debrief_page.story, name="story"),
    path(_attempt + "points/", points_page.show, name="points"),
    path(_attempt + "points/take-back/", points_page.take_back, name="points-take-back"),
    path(_attempt + "ask/<slug:item>/", regrade_pages.ask, name="regrade-ask"),
    path(_attempt + "ask/<slug:item>/withdraw/", regrade_pages.withdraw, name="regrade-withdraw"),
    path("remarkings/", remarking_pages.index, name="remarkings"),
    path(_remarking, remarking_pages.show, name="remarking"),
    path(_remarking + "apply/", remarking_pages.apply, name="remarking-apply"),
    path(_remarking + "undo/", remarking_pages.undo, name="remarking-undo"),
    path(_remarking + "cancel/", remarking_pages.cancel, name="remarking-cancel"),
    path("insight/", insight_pages.index, name="insight"),
    path("insight/<slug:slug>/", insight_pages.lab, name="insight-lab"),
    # The grader's desk.
    path("", include("labs.review_urls")),
    # Last: a slug fits anything that is left.
    path("<slug:slug>/", lab_pages.lab, name="lab"),
    path("<slug:slug>/start/", lab_pages.start, name="start"),
]
