"""Mistakes of a deployment, found before the first page: system checks with an id and a hint."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register


@register(Tags.security)
def production_is_configured(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001
    """Refuse DEBUG=false with anything that only suits a laptop."""
    if settings.DEBUG:
        return []
    errors: list[CheckMessage] = []
    if settings.SECRET_KEY == settings.INSECURE_SECRET_KEY:
        errors.append(
            Error(
                "DEBUG is off, and SECRET_KEY is the one that everyone can read in the source.",
                hint="Set SECRET_KEY to at least 50 random characters, and keep it.",
                id="courseware.E001",
            )
        )
    if not os.environ.get("REDIS_URL"):
        errors.append(
            Error(
                "DEBUG is off, and no broker is named.",
                hint="Set REDIS_URL, for example redis://broker:6379/0.",
                id="courseware.E002",
            )
        )
    if not settings.ALLOWED_HOSTS:
        errors.append(
            Error(
                "DEBUG is off, and no host name is allowed: every page would be a 400.",
                hint="Set ALLOWED_HOSTS to the names of this site, separated by commas.",
                id="courseware.E003",
            )
        )
    elif "*" in settings.ALLOWED_HOSTS:
        errors.append(
            Error(
                "DEBUG is off, and every host name is allowed.",
                hint="Name this site's hosts in ALLOWED_HOSTS; a star lets others forge links in our mails.",
                id="courseware.E004",
            )
        )
    return errors
