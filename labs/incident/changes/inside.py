"""Changes of what is special within the engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.incident.changes.kinds import Kind

KINDS: dict[str, Kind] = {}
