"""Addresses below /cohorts/."""

from django.urls import URLPattern, URLResolver, path

from courseware.cohorts import editing, gradebook_views, members, views

app_name = "cohorts"

_cohort = "<uuid:public_id>/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.index, name="index"),
    path("new/", editing.new, name="new"),
    path("join/<str:code>/", views.join, name="join"),
    path(_cohort, views.cohort, name="cohort"),
    path(_cohort + "edit/", editing.edit, name="edit"),
    path(_cohort + "code/", views.code, name="code"),
    path(_cohort + "archive/", views.archive, name="archive"),
    path(_cohort + "roster/", members.take_in, name="roster"),
    path(_cohort + "gradebook/", gradebook_views.show, name="gradebook"),
    path(_cohort + "gradebook.csv", gradebook_views.export, name="gradebook-csv"),
    path(_cohort + "people/<int:pk>/", gradebook_views.person, name="person"),
    path(_cohort + "members/<int:pk>/", members.member, name="member"),
    path(_cohort + "members/<int:pk>/move/", members.move, name="member-move"),
    path(_cohort + "assignments/new/", editing.assignment, name="assign"),
    path(_cohort + "assignments/<int:pk>/", editing.assignment, name="assignment"),
    path(_cohort + "assignments/<int:pk>/drop/", editing.drop_assignment, name="assignment-drop"),
    path(_cohort + "overrides/new/", editing.override, name="override-new"),
    path(_cohort + "overrides/<int:pk>/", editing.override, name="override"),
    path(_cohort + "overrides/<int:pk>/drop/", editing.drop_override, name="override-drop"),
    path(_cohort + "announce/", editing.announce, name="announce"),
    path(_cohort + "announcements/<int:pk>/withdraw/", editing.withdraw, name="withdraw"),
]
