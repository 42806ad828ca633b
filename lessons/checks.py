"""A broken lesson, symptom or glossary stops ``manage.py check``: the message names the file and the line."""

from typing import Any

from django.core.checks import Error, register

from courseware.glossary import GlossaryError, glossary
from lessons import content, symptoms
from lessons.front_matter import ContentError


@register()
def lessons_can_be_shown(app_configs: Any, **kwargs: Any) -> list[Error]:
    """Read glossary, lessons and symptoms anew."""
    del app_configs, kwargs
    try:
        glossary.cache_clear()
        glossary()
    except GlossaryError as error:
        return [Error(str(error), id="lessons.E002")]
    try:
        content.course.cache_clear()
        content.course()
        symptoms.symptoms.cache_clear()
        symptoms.symptoms()
    except ContentError as error:
        return [Error(str(error), id="lessons.E001")]
    return []
