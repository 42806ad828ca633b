"""Numbers as people read them."""

from __future__ import annotations

import re

NO_BREAK = "\u00a0"
_PREFIXED = "(?:[kMGTmµnu]|[KMGT]i)?"
_UNITS = rf"%|{_PREFIXED}(?:s|B|W|Hz|bit|FLOPS)|min|h|d|°C"
_SPACE = re.compile(rf"<(code|pre)\b.*?</\1>|<[^>]*>|(?<=\d) (?=(?:{_UNITS})(?![\w’']))", re.DOTALL)


def bound(text: str) -> str:
    """Return a text or its HTML with every number on one line with its unit; what is code stays as it is."""
    return _SPACE.sub(lambda match: NO_BREAK if match[0] == " " else match[0], text)


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
