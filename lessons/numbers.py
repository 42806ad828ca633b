"""Every number that a lesson's text may show, whichever module computes it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from courseware.text_files import nearest
from lessons import (
    drill_quantities,
    drill_step_quantities,
    measuring_quantities,
    playbook_quantities,
    quantities,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MODULES = (quantities, playbook_quantities, measuring_quantities)
_DRILLS = (drill_quantities, drill_step_quantities)
SHOWN: Mapping[str, str] = MappingProxyType(
    {name: text for module in (*_MODULES, *_DRILLS) for name, text in module.SHOWN.items()}
)
"""What ``{{ name }}`` stands for."""
NUMBERS: Mapping[str, float] = MappingProxyType(
    {name: number for module in _MODULES for name, number in module.NUMBERS.items()}
)
"""What ``= name`` stands for in a check."""


def no_such_number(name: str, known: Iterable[str]) -> str:
    """Return what an author is told who names a number that nothing computes."""
    hint = nearest(name, known) or "."
    return f"no number is called {name!r}{hint} lessons/numbers.py lists where they are computed"
