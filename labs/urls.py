"""Addresses below /labs/."""

from django.urls import URLPattern, URLResolver

app_name = "labs"

urlpatterns: list[URLPattern | URLResolver] = []
