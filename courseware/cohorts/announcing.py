"""What an instructor writes to a cohort: Markdown in, harmless HTML out."""

from __future__ import annotations

import markdown
import nh3
from django.utils.safestring import SafeString, mark_safe

_TAGS = {
    "p",
    "br",
    "em",
    "strong",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "a",
    "blockquote",
    "h3",
    "h4",
    "hr",
}
_LIFTED = (("h1", "h3"), ("h2", "h4"))
"""A page has one heading of the first rank, and an announcement is not it."""


def announced_html(text: str) -> SafeString:
    """Return an announcement as HTML: no scripts, styles, pictures or tables; links over http, https and mailto."""
    html = markdown.markdown(text, extensions=["sane_lists", "nl2br"])
    for rank, lower in _LIFTED:
        html = html.replace(f"<{rank}>", f"<{lower}>").replace(f"</{rank}>", f"</{lower}>")
    cleaned = nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    return mark_safe(cleaned)  # noqa: S308  (nh3 has cleaned it)
