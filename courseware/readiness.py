"""What a web process has to have read before it takes a request. Whoever comes first would wait for it otherwise."""

from __future__ import annotations

from django.template.loader import get_template
from django.urls import get_resolver

from courseware.glossary import glossary
from courseware.studio import serving
from labs.catalogue import labs
from lessons import content, predictions, search
from lessons.drills.spec import drills
from lessons.symptoms import symptoms

PAGES = (
    "home.html",
    "labs/index.html",
    "lessons/index.html",
    "lessons/lesson.html",
    "lessons/review.html",
    "lessons/station.html",
    "lessons/you.html",
)
"""The pages that people open first, by their templates."""


def read_everything() -> None:
    """Read course, labs, addresses and templates into this process. Raises what a broken file raises."""
    serving.look()
    _ = get_resolver().url_patterns
    for read in (glossary, content.course, symptoms, drills, labs, predictions.code_version):
        read()
    search.index()
    for name in PAGES:
        get_template(name)
