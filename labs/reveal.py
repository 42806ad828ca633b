"""What the debrief may reveal once an attempt is marked: what a question was worth, and how a prediction fared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labs.marking import values
from labs.marking.predictions import brier, is_hit, value_error

if TYPE_CHECKING:
    from labs.marking.economy import ReadingTaken
    from labs.marking.table import Table
    from labs.specs import LabSpec
    from labs.twins import ToldTwin


def instruments_of(spec: LabSpec, *, taken: str | None = None) -> list[values.Instrument]:
    """Return the lab's instruments but the alarm's own: their worth is what marking compares.

    A panel shows what some instrument shows at no higher price, so only one that was ``taken`` is among them.
    """
    return [
        values.Instrument(key, each.signals, each.cost_s, each.disturbance_s)
        for key, each in spec.instruments.items()
        if not each.is_alarm and (key == taken or not each.is_panel)
    ]


def best_value(spec: LabSpec, table: Table) -> float:
    """Return V*, bits per minute: the best set of up to three instruments, read at the page."""
    return values.best_value(table, instruments_of(spec), table.grid_s[0]).value


def worth_of_first_readings(
    spec: LabSpec, table: Table, readings: list[ReadingTaken]
) -> list[dict[str, Any]]:
    """Return what each instrument is worth as a first measurement, best first."""
    first = next((each.instrument for each in readings if not each.orientation), None)
    listed = values.valued_instruments(table, instruments_of(spec, taken=first), table.grid_s[0])
    rows = [
        {
            "instrument": each.instruments[0],
            "title": spec.instruments[each.instruments[0]].title,
            "bits": round(each.information, 3),
            "seconds": each.seconds,
            "value": round(each.value, 3),
            "yours": each.instruments[0] == first,
        }
        for each in listed
    ]
    return sorted(rows, key=lambda row: (-float(row["value"]), str(row["instrument"])))


def prediction_revealed(
    spec: LabSpec, prediction: dict[str, Any] | None, nothing: ToldTwin
) -> dict[str, Any]:
    """Return what was asked, what the untouched world gave, and how far off the guess was. Never a mark."""
    truth = next((value for at_s, value in nothing.alarm if at_s == spec.prediction.at_s), None)
    shown_: dict[str, Any] = {
        "question": spec.prediction.question,
        "unit": spec.prediction.unit,
        "truth": truth,
    }
    if prediction is not None and truth is not None:
        guess = float(prediction["value"])
        hit = is_hit(guess, truth)
        shown_ |= {
            "value": guess,
            "confidence": prediction["confidence"],
            "why": prediction.get("why", ""),
            "error": value_error(guess, truth),
            "hit": hit,
            "brier": brier(float(prediction["confidence"]), hit=hit),
        }
    return shown_
