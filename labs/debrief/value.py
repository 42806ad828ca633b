"""What a minute could have bought: each instrument as a first measurement, and the doubt that one's readings left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labs.incident import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.specs import LabSpec

type Row = Mapping[str, Any]
"""One instrument: its title, bits, seconds, bits a minute, and whether it was one's first."""


def spoken(rows: Sequence[Row]) -> str:
    told = (
        f"{row['title']} {row['value']:.2f}{' which was your first' if row['yours'] else ''}"
        for row in rows
    )
    return f"Bits a minute by instrument. {', '.join(told)}."


def table(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(
        {
            **row,
            "bits": f"{row['bits']:.2f}",
            "cost": clock(float(row["seconds"])),
            "value": f"{row['value']:.2f}",
        }
        for row in rows
    )


def first_measurement(rows: Sequence[Row]) -> dict[str, str]:
    """Return how much of the best rate one's first measurement bought. ``rows``: the best first."""
    best = rows[0] if rows else None
    yours = next((row for row in rows if row["yours"]), None)
    if best is None or yours is None or not best["value"]:
        return {"share": "", "title": "", "best": str(best["title"]) if best else ""}
    share = float(yours["value"]) / float(best["value"])
    return {
        "share": f"{share:.0%}".replace("%", " %"),
        "title": str(yours["title"]),
        "best": str(best["title"]),
    }


def posterior(spec: LabSpec, known: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    rows = [
        {
            "title": spec.hypotheses[key].title if key in spec.hypotheses else key,
            "percent": f"{100 * float(share):.0f} %",
            "width": f"{100 * float(share):.1f}%",
            "share": float(share),
            "true": key == known["hypothesis"],
        }
        for key, share in known["posterior"].items()
    ]
    return tuple(sorted(rows, key=lambda row: -float(row["share"])))
