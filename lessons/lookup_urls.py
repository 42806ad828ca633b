"""Addresses of what one looks up."""

from django.urls import URLPattern, URLResolver, path

from lessons import lookup

app_name = "lookup"

urlpatterns: list[URLPattern | URLResolver] = [
    path("symptoms/", lookup.symptom_index, name="symptoms"),
    path("symptoms/<str:number>/", lookup.symptom, name="symptom"),
    path("glossary/", lookup.glossary, name="glossary"),
    path("search/", lookup.find, name="search"),
]
