"""Changes of the memory of the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.incident.changes.kinds import Kind

KINDS: dict[str, Kind] = {}
