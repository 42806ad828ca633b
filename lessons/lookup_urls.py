"""Addresses of what one looks up."""

from django.urls import URLPattern, URLResolver, path

from lessons import drill_views, lookup

app_name = "lookup"

urlpatterns: list[URLPattern | URLResolver] = [
    path("symptoms/", lookup.symptom_index, name="symptoms"),
    path("symptoms/<str:number>/", lookup.symptom, name="symptom"),
    path("drills/<str:number>/", drill_views.drill, name="drill"),
    path("drills/<str:number>/begin/", drill_views.begin, name="drill-begin"),
    path("drills/<str:number>/first/", drill_views.commit, name="drill-commit"),
    path("drills/<str:number>/more/", drill_views.take, name="drill-take"),
    path("drills/<str:number>/hint/", drill_views.hint, name="drill-hint"),
    path("drills/<str:number>/strike/", drill_views.strike, name="drill-strike"),
    path("drills/<str:number>/mechanism/", drill_views.explain, name="drill-explain"),
    path("drills/<str:number>/fix/", drill_views.mend, name="drill-mend"),
    path("glossary/", lookup.glossary, name="glossary"),
    path("triage/", lookup.triage_card, name="triage"),
    path("search/", lookup.find, name="search"),
]
