"""Demonstrations that a reader can vary: one module each, found here by id. Pure."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from lessons.demos import (
    averaged_percentiles,
    coordinated_omission,
    gaps_and_streams,
    memory_ledger,
    open_and_closed,
    same_against_same,
    warm_caches,
    what_arrives,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons.demos.demo import Demo, Shown, Value

DEMOS: Mapping[str, Demo] = MappingProxyType(
    {
        module.DEMO.id: module.DEMO
        for module in (
            open_and_closed,
            warm_caches,
            coordinated_omission,
            gaps_and_streams,
            averaged_percentiles,
            same_against_same,
            what_arrives,
            memory_ledger,
        )
    }
)
_KEPT = 512
"""Settings whose results are kept in each process."""


def computed(demo: Demo, values: Mapping[str, Value]) -> Shown:
    """Return what a demonstration shows where its controls stand at ``values``; computed once for each setting."""
    return _computed(demo.id, tuple(values[control.name] for control in demo.controls))


@lru_cache(maxsize=_KEPT)
def _computed(key: str, values: tuple[Value, ...]) -> Shown:
    demo = DEMOS[key]
    return demo.compute(
        **{control.name: value for control, value in zip(demo.controls, values, strict=True)}
    )
