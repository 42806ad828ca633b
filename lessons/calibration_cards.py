"""A calibration as pages show it: shares in per cent, and the bins of its strip. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lessons.calibration import LAST, calibration_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.marking.predictions import Level
    from lessons.calibration import Told


def calibration_card(told: Sequence[Told]) -> dict[str, Any]:
    """Return what a page says of predictions; ``calibration`` is None if there are none."""
    found = calibration_of(told)
    return {
        "calibration": found,
        "percents": {
            "share": f"{found.whole.share:.0%}",
            "stated": f"{found.whole.stated:.0%}",
        }
        if found
        else {},
        "bins": [_bin(each) for each in found.strip] if found else [],
        "last": LAST,
    }


def _bin(level: Level) -> dict[str, Any]:
    """Return one bin as the strip draws it: lengths are per cent of its width."""
    share = level.hits / level.count if level.count else None
    return {
        "percent": level.percent,
        "hits": level.hits,
        "count": level.count,
        "happened": None if share is None else f"{share:.0%}",
        "interval": level.interval and [f"{end:.0%}" for end in level.interval],
    }
