"""The prediction beside what was computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labs import charts

if TYPE_CHECKING:
    from collections.abc import Mapping


def prediction_shown(found: Mapping[str, Any]) -> dict[str, Any] | None:
    if found.get("value") is None or found.get("truth") is None:
        return None
    error = float(found["error"])
    factor = 2 ** abs(error)
    off = f"{factor:.1f}" if factor < 10 else f"{factor:.0f}"  # noqa: PLR2004
    return {
        "question": found["question"],
        "unit": found["unit"],
        "said": f"{float(found['value']):,.6g}",
        "truth": charts.number(float(found["truth"])),
        "confidence": found["confidence"],
        "why": found.get("why", ""),
        "off": f"× {off}",
        "way": "within a quarter of it" if found["hit"] else "too low" if error < 0 else "too high",
        "hit": bool(found["hit"]),
        "brier": f"{float(found['brier']):.2f}",
    }
