"""What a drill's worlds read, computed: one module a drill, each with a function ``observe``.

``observe(world, seed, fix)`` returns every signal of one world, and what each measurement prints, before any fix
(``fix=None``) or after one. The same seed draws the same nuisances in every world.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.marking.table import Value


@dataclass(frozen=True)
class Observed:
    """One world, looked at."""

    values: Mapping[str, Value]
    """Signal -> what it reads."""
    prints: Mapping[str, tuple[str, ...]]
    """Measurement -> the lines that it prints."""


class Evidence(Protocol):
    """A module of this room."""

    def observe(self, world: str, seed: int, fix: str | None = None) -> Observed:
        """Return what a world reads, before a fix or after one. Raises KeyError for an unknown world or fix."""
        ...


def evidence_of(module: str) -> Evidence:
    """Return a module of this room. Raises ModuleNotFoundError."""
    found: Evidence = import_module(f"{__name__}.{module}")
    return found
