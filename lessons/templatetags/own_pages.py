"""The navigation of a person's own pages, with how much comes back today."""

from __future__ import annotations

from typing import Any

from django import template

from courseware.models import User
from lessons import repeats

register = template.Library()


@register.inclusion_tag("lessons/_own_pages.html", takes_context=True)
def own_pages(context: dict[str, Any], here: str) -> dict[str, Any]:
    """Show the navigation; ``here`` is the page that it stands on."""
    user = context["request"].user
    return {"here": here, "due": len(repeats.due_today(user)) if isinstance(user, User) else 0}
