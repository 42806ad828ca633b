"""What a console can read of what stands in front of the engines, and their lifetime."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.instruments.sources.source import Source

SOURCES: dict[str, Source] = {}
