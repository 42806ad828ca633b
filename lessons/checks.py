"""A broken lesson stops ``manage.py check``: the message names the file and the line."""

from typing import Any

from django.core.checks import Error, register

from lessons import content


@register()
def lessons_can_be_shown(app_configs: Any, **kwargs: Any) -> list[Error]:
    """Read every lesson anew."""
    del app_configs, kwargs
    try:
        content.course.cache_clear()
        content.course()
    except content.ContentError as error:
        return [Error(str(error), id="lessons.E001")]
    return []
