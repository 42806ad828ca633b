"""What was believed at a moment, what the readings had told by then, and what was worth measuring next."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from labs.incident import clock
from labs.log import diagnostic_readings
from labs.marking import shown, values
from labs.marking.economy import known_signals
from labs.reveal import instruments_of
from labs.story.moments import kind_of, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from labs.log import Entry
    from labs.marking.economy import ReadingTaken
    from labs.marking.table import Table
    from labs.review_desk import Logged, Moment
    from labs.specs import LabSpec
    from labs.story.moments import Story

MOST_ASKED = 3
DECIDED = 0.9
"""From this share on one world is as good as known: what is left to ask is worth little."""


@dataclass(frozen=True)
class Believed:
    """One hypothesis: what the learner said of it last, and what the readings so far leave of it."""

    letter: str
    title: str
    said: str
    said_width: str
    told: str
    told_width: str
    is_true: bool


@dataclass(frozen=True)
class Asked:
    """What one measurement is worth at this moment."""

    title: str
    rate: str
    """Bits a minute."""
    bits: str
    cost: str
    is_taken: bool
    """Whether it is what the learner took next."""


@dataclass(frozen=True)
class Best:
    """The best next measurements, or why none is named."""

    rows: tuple[Asked, ...] = ()
    why_not: str = ""
    decided: str = ""
    """The world that the readings have all but decided, with its share; empty while they have not."""
    took: str = ""
    """What the learner took next, if it is not among the rows."""


def told_by(spec: LabSpec, table: Table | None, entries: Sequence[Entry]) -> Mapping[str, float]:
    """Return what the readings of the diagnostic phase so far leave of each world; empty without a table."""
    if table is None:
        return {}
    readings = diagnostic_readings(spec, entries)
    return shown.posterior_after(table, readings) if readings else dict(table.priors)


def believed(
    spec: LabSpec, past: Sequence[Logged], told: Mapping[str, float], truth: str
) -> Iterable[Believed]:
    """Yield each hypothesis with what was said of it last, and what the readings leave of it."""
    held: dict[str, Any] = {}
    for each in past:
        if each.kind == "beliefs":
            held |= each.payload
    for letter, (key, hypothesis) in zip(ascii_uppercase, spec.hypotheses.items(), strict=False):
        said, share = held.get(key), told.get(key)
        yield Believed(
            letter,
            hypothesis.title,
            "open" if said is None else percent(said),
            f"{said or 0}%",
            "" if share is None else f"{100 * share:.0f} %",
            f"{100 * (share or 0):.1f}%",
            key == truth,
        )


def best_next(
    story: Story,
    table: Table | None,
    entries: Sequence[Entry],
    told: Mapping[str, float],
    moment: Moment,
) -> Best:
    """Return what each measurement was worth, the best first, given what had been read."""
    if table is None:
        return Best(
            why_not="The lab's table is being computed anew: without it no measurement has a worth."
        )
    if any(e.kind == "diagnose" or e.outcome.get("kind") == "change" for e in entries):
        return Best(
            why_not="Asking ended with the diagnosis or the first change. The table tells of a world left alone, no longer of this one."
        )
    spec, readings = story.spec, diagnostic_readings(story.spec, entries)
    grid_s = table.grid_time(entries[-1].at_s)
    grid_s = table.grid_s[0] if grid_s is None else grid_s
    ranked = values.value_left(table, _unread(spec, table, readings, grid_s), grid_s, told)
    following = next((e for e in story.log if e.seq > moment.seq and kind_of(e) == "reading"), None)
    taken = str((following.outcome or {}).get("instrument", "")) if following else ""
    rows = tuple(
        Asked(
            spec.instruments[each.instruments[0]].title,
            f"{each.value:.2f}",
            f"{each.information:.2f}",
            clock(each.seconds),
            each.instruments[0] == taken,
        )
        for each in ranked
        if each.value >= 0.005  # noqa: PLR2004  (below, it would be shown as 0.00)
    )
    top = rows[:MOST_ASKED]
    beyond = next((row for row in rows[MOST_ASKED:] if row.is_taken), None)
    took = ""
    if beyond is not None:
        took = f"{beyond.title}, {beyond.rate} bits a minute"
    elif taken in spec.instruments and not any(row.is_taken for row in top):
        took = f"{spec.instruments[taken].title}, which tells nothing new here"
    likely, share = max(told.items(), key=lambda each: each[1])
    decided = f"{spec.hypotheses[likely].title}, {100 * share:.0f} %" if share >= DECIDED else ""
    return Best(rows=top, decided=decided, took=took)


def _unread(
    spec: LabSpec, table: Table, readings: Sequence[ReadingTaken], grid_s: int
) -> list[values.Instrument]:
    """Return the instruments that would show something not read yet at this time of the table."""
    known = known_signals(table, readings)
    return [
        each
        for each in instruments_of(spec)
        if any(table.has(name) and known.get(name) != grid_s for name in each.signals)
    ]
