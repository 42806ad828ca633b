"""Every number that a lesson's text may show, whichever module computes it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from lessons import playbook_quantities, quantities

if TYPE_CHECKING:
    from collections.abc import Mapping

SHOWN: Mapping[str, str] = MappingProxyType({**quantities.SHOWN, **playbook_quantities.SHOWN})
"""What ``{{ name }}`` stands for."""
NUMBERS: Mapping[str, float] = MappingProxyType(
    {**quantities.NUMBERS, **playbook_quantities.NUMBERS}
)
"""What ``= name`` stands for in a check."""
