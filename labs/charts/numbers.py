"""Numbers as people read them."""

from __future__ import annotations

import re

NO_BREAK = "\u00a0"
_PREFIXED = "(?:[kMGTmµnu]|[KMGT]i)?"
_UNITS = rf"%|{_PREFIXED}(?:s|B|W|Hz|bit|FLOPS)|min|h|d|°C"
_SPACE = re.compile(rf"<(code|pre)\b.*?</\1>|<[^>]*>|(?<=\d) (?=(?:{_UNITS})(?![\w’']))", re.DOTALL)
_FLAG = re.compile(r"^<code>(--\w+)")


def bound(text: str) -> str:
    """Return a text or its HTML with every number on one line with its unit.

    What is code keeps its characters; the dashes of a flag stay with its first word.
    """
    return _SPACE.sub(_bound, text)


def _bound(match: re.Match[str]) -> str:
    if match[0] == " ":
        return NO_BREAK
    return _FLAG.sub(r'<code><span class="nb">\1</span>', match[0])


def number(value: float | str | None, decimals: int = 2) -> str:
    """Return a number for people: thousands marks, and no more decimals than its size deserves.

    A category is its own word.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if abs(value) >= 100:  # noqa: PLR2004
        decimals = 0
    elif abs(value) >= 10:  # noqa: PLR2004
        decimals = min(decimals, 1)
    return f"{value:,.{decimals}f}".replace("-", "−")
