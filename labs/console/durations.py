"""Spans of incident time as people type them."""

from __future__ import annotations

import re

_DURATION = re.compile(r"(\d{1,4})(s|m|min)?", re.ASCII)


def duration_s(text: str) -> int | None:
    """Return the seconds in ``5m``, ``90s`` or ``90``, or None."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    return int(match.group(1)) * (60 if match.group(2) in {"m", "min"} else 1)
