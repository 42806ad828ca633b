"""Whether the version of the lab that an attempt began with can still be read.

Versions are kept for ever, and yet one may be older than what this release of the course can read. A list leaves out
what began with it; its own pages are a 404. Nothing else suffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.models import Attempt


def is_readable(attempt: Attempt) -> bool:
    """Return whether an attempt's version of its lab can be read."""
    try:
        return bool(attempt.spec)
    except LookupError:
        return False
