"""How well a person's confidence fits what then happened. Pure, and never a mark.

The scores are labs.marking's, so that a prediction in a lesson and one in a lab count alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labs.marking.constants import STRIP_LEVEL_MINIMUM, STRIP_MINIMUM
from labs.marking.predictions import (
    Guessed,
    Level,
    brier,
    calibration_word,
    is_hit,
    wilson,
)
from lessons.predictions import CONFIDENCES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

LAST = 10
"""How many of the newest predictions are compared with all before them."""
COIN_BRIER = 0.25
"""The mean Brier score of whoever says 50 % to everything."""


@dataclass(frozen=True)
class Told:
    """One prediction whose answer is known."""

    at: datetime
    """When it was committed."""
    percent: int
    """Confidence: one of CONFIDENCES."""
    hit: bool


@dataclass(frozen=True)
class Part:
    """Some predictions in three numbers."""

    count: int
    hits: int
    stated: float
    """Mean confidence, 0 to 1."""
    brier: float
    """Mean of (confidence − hit)²: 0 is best, 1 worst."""

    @property
    def share(self) -> float:
        """Hits of all, 0 to 1."""
        return self.hits / self.count


@dataclass(frozen=True)
class Moved:
    """The last ten beside all before them."""

    before: Part
    last: Part


@dataclass(frozen=True)
class Calibration:
    """All that a person's own page says of their confidence."""

    whole: Part
    strip: tuple[Level, ...]
    """One bin a confidence, stated against happened; empty below STRIP_MINIMUM predictions."""
    word: Literal["over-confident", "under-confident"] | None
    """None if the surplus is within chance, or there are too few."""
    moved: Moved | None
    """None below STRIP_MINIMUM predictions: ten against fewer than ten says nothing."""

    @property
    def missing(self) -> int:
        """How many more predictions the strip needs."""
        return max(0, STRIP_MINIMUM - self.whole.count)


def told(at: datetime, percent: int, *, said: float, computed: float) -> Told:
    """Return a prediction with its outcome: a hit if ``computed`` is within ×/÷ 1.25 of ``said``."""
    return Told(at, percent, is_hit(said, computed))


def calibration_of(predictions: Sequence[Told]) -> Calibration | None:
    """Return the calibration of predictions in any order; None if there are none.

    Raises ValueError for a confidence that is none of CONFIDENCES.
    """
    if not predictions:
        return None
    if odd := sorted({each.percent for each in predictions} - set(CONFIDENCES)):
        raise ValueError(f"confidences are {CONFIDENCES} %, not {odd}")
    ordered = sorted(predictions, key=lambda each: each.at)
    enough = len(ordered) >= STRIP_MINIMUM
    return Calibration(
        whole=_part(ordered),
        strip=tuple(_bin(ordered, percent) for percent in CONFIDENCES) if enough else (),
        word=calibration_word([Guessed(each.percent, each.hit) for each in ordered]),
        moved=Moved(_part(ordered[:-LAST]), _part(ordered[-LAST:])) if enough else None,
    )


def _part(predictions: Sequence[Told]) -> Part:
    count = len(predictions)
    return Part(
        count=count,
        hits=sum(each.hit for each in predictions),
        stated=math.fsum(each.percent for each in predictions) / count / 100,
        brier=math.fsum(brier(each.percent, hit=each.hit) for each in predictions) / count,
    )


def _bin(predictions: Sequence[Told], percent: int) -> Level:
    here = [each for each in predictions if each.percent == percent]
    hits, count = sum(each.hit for each in here), len(here)
    return Level(
        percent, hits, count, wilson(hits, count) if count >= STRIP_LEVEL_MINIMUM else None
    )
