"""An attempt as a story that can be scrubbed: at any moment, what had been read, what was believed, what was best next. Pure.

Nothing in here says whose attempt it is, and nothing is simulated: all of it follows from the log, the series that was
stored with it, the lab's table, and the mark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from labs import charts
from labs.incident import clock
from labs.log import Entry, diagnostic_readings
from labs.marking import shown, values
from labs.marking.economy import known_signals
from labs.reveal import instruments_of
from labs.review_desk import Value, moments_of, shown_value, signal_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from labs.charts import StoryStrip
    from labs.marking.economy import ReadingTaken
    from labs.marking.table import Table
    from labs.review_desk import Logged, Moment
    from labs.specs import LabSpec

ROWS = ("believed", "read", "changed", "waited", "said", "reference")
_ROW_OF = {
    "predict": "believed",
    "beliefs": "believed",
    "reading": "read",
    "verification": "read",
    "change": "changed",
    "wait": "waited",
    "diagnose": "said",
    "explain": "said",
}
_CSS = {"change": "f-yours", "verification": "f-ink", "wait": "f-rest"}
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
class Known:
    """The last that was read of one signal."""

    seq: int
    number: int
    title: str
    value: str
    healthy: str
    """What it reads when all is well; empty if that is not known."""


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


@dataclass(frozen=True)
class Reference:
    """Where the reference play was at this time of the incident."""

    done: tuple[str, ...]
    following: str


@dataclass(frozen=True)
class Gauge:
    value: str
    unit: str
    target: str
    is_held: bool


@dataclass(frozen=True)
class Scene:
    """The state of an attempt right after one of its moments."""

    moment: Moment
    place: int
    """From 1."""
    of: int
    before: int | None
    """The address of the moment before."""
    after: int | None
    alarm: Gauge
    hurt: tuple[str, str] | None
    """Users hurt since the page, and how many more a minute."""
    promises: tuple[Value, ...]
    """As the last verification found them."""
    verified_at: str
    spent: str
    """What readings and waits had cost."""
    in_force: tuple[str, ...]
    """The changes made so far, by what they answered."""
    known: tuple[Known, ...]
    believed: tuple[Believed, ...]
    best: Best
    reference: Reference
    strip: StoryStrip
    spoken: str


@dataclass(frozen=True)
class Story:
    """A whole attempt: its moments, and what it takes to show one of them."""

    spec: LabSpec
    log: tuple[Logged, ...]
    moments: tuple[Moment, ...]
    alarm: tuple[tuple[int, float | None], ...]
    hurt: tuple[tuple[int, float, float], ...]
    """[incident second, users hurt since the page, how many more a minute]; empty for an attempt that kept none."""
    mark: Mapping[str, Any]

    def at(self, seq: int) -> Moment:
        """Return the moment of that address; the nearest one if there is none. Raises ValueError without moments."""
        return min(self.moments, key=lambda each: (abs(each.seq - seq), each.seq))

    def at_place(self, place: int) -> Moment:
        """Return a moment by its place from 1; the first or the last for a place beyond."""
        return self.moments[min(max(place, 1), len(self.moments)) - 1]


def story_of(
    spec: LabSpec,
    log: Sequence[Logged],
    panel: Mapping[str, Any],
    mark: Mapping[str, Any] | None,
) -> Story:
    """Return the story of an attempt. ``log`` holds what was done, in order; ``panel`` what was stored with it.

    Sliders moved one after the other are one moment: the last of them.
    """
    moments: list[Moment] = []
    for is_belief, run in groupby(moments_of(spec, log), key=lambda each: each.kind == "beliefs"):
        found = list(run)
        moments += [_together(spec, log, found)] if is_belief else found
    points = tuple((int(at_s), value) for at_s, value in panel.get("alarm", []))
    hurt = tuple((int(at_s), users, rate) for at_s, users, rate in panel.get("hurt", []))
    return Story(spec, tuple(log), tuple(moments), points, hurt, mark or {})


def _together(spec: LabSpec, log: Sequence[Logged], run: Sequence[Moment]) -> Moment:
    addresses = {each.seq for each in run}
    moved: dict[str, Any] = {}
    for each in log:
        if each.seq in addresses:
            moved |= each.payload
    keys = list(spec.hypotheses)
    title = ", ".join(
        f"{ascii_uppercase[keys.index(key)]} {_percent(moved[key])}" for key in keys if key in moved
    )
    return replace(run[-1], title=title)


# ------------------------------------------------------------------------------------------ a scene


def scene_of(
    story: Story, moment: Moment, *, table: Table | None, healthy: Mapping[str, str]
) -> Scene:
    """Return the state right after a moment. ``table`` is None for a lab whose table is not at hand.

    ``healthy`` says what each signal reads when all is well. Takes up to 0.2 s while the table is asked.
    """
    spec = story.spec
    past = [each for each in story.log if each.seq <= moment.seq]
    entries = [_entry(each) for each in past]
    now_s = past[-1].at_s or 0
    place = story.moments.index(moment)
    verified = next((e for e in reversed(past) if _kind(e) == "verification"), None)
    signals = (verified.outcome or {}).get("signals", {}) if verified else {}
    told = _told(spec, table, entries)
    return Scene(
        moment=moment,
        place=place + 1,
        of=len(story.moments),
        before=story.moments[place - 1].seq if place else None,
        after=story.moments[place + 1].seq if place + 1 < len(story.moments) else None,
        alarm=_gauge(story, now_s),
        hurt=_hurt(story, now_s),
        promises=tuple(
            Value(signal_title(spec, key), shown_value(spec, key, value))
            for key, value in signals.items()
            if spec.promise(key) is not None
        ),
        verified_at=clock(verified.at_s or 0) if verified else "",
        spent=clock(sum(e.cost_s for e in past if _kind(e) in {"reading", "wait"})),
        in_force=tuple(
            str((each.outcome or {}).get("text", "")).partition("\n")[0]
            for each in past
            if _kind(each) == "change"
        ),
        known=tuple(_known(spec, past, healthy)),
        believed=tuple(_believed(spec, past, told, str(_debrief(story).get("hypothesis", "")))),
        best=_best(story, table, entries, told, moment),
        reference=_reference(story, now_s),
        strip=_strip(story, moment, now_s),
        spoken=_spoken(story, moment, place),
    )


def _spoken(story: Story, moment: Moment, place: int) -> str:
    number = f" {moment.number}" if moment.number else ""
    return (
        f"Moment {place + 1} of {len(story.moments)}, {moment.at}: "
        f"{moment.word}{number}, {moment.title}"
    )


def _entry(each: Logged) -> Entry:
    return Entry(str(each.kind), each.payload, each.outcome or {}, each.at_s or 0, each.cost_s)


def _kind(each: Logged) -> str:
    return str((each.outcome or {}).get("kind", "")) if each.kind == "command" else str(each.kind)


def _debrief(story: Story) -> Mapping[str, Any]:
    found: Mapping[str, Any] = story.mark.get("debrief", {})
    return found


def _gauge(story: Story, now_s: int) -> Gauge:
    alarm = story.spec.alarm
    value = next((value for at_s, value in reversed(story.alarm) if at_s <= now_s), None)
    side = "at most" if alarm.above is not None else "at least"
    return Gauge(
        charts.number(value), story.spec.alarm_unit, f"{side} {alarm.target:g}", alarm.held(value)
    )


def _hurt(story: Story, now_s: int) -> tuple[str, str] | None:
    found = next((each for each in reversed(story.hurt) if each[0] <= now_s), None)
    return None if found is None else (charts.number(found[1], 0), charts.number(found[2], 0))


def _known(spec: LabSpec, past: Sequence[Logged], healthy: Mapping[str, str]) -> Iterable[Known]:
    last: dict[str, Known] = {}
    for each in past:
        outcome = each.outcome or {}
        if _kind(each) not in {"reading", "verification"}:
            continue
        for key, value in outcome.get("signals", {}).items():
            last.pop(key, None)
            last[key] = Known(
                each.seq,
                int(outcome.get("number", 0)),
                signal_title(spec, key),
                shown_value(spec, key, value),
                healthy.get(key, ""),
            )
    return reversed(last.values())


# ------------------------------------------------------------------------ believed, told, best next


def _told(spec: LabSpec, table: Table | None, entries: Sequence[Entry]) -> Mapping[str, float]:
    """Return what the readings of the diagnostic phase so far leave of each world; empty without a table."""
    if table is None:
        return {}
    readings = diagnostic_readings(spec, entries)
    return shown.posterior_after(table, readings) if readings else dict(table.priors)


def _believed(
    spec: LabSpec, past: Sequence[Logged], told: Mapping[str, float], truth: str
) -> Iterable[Believed]:
    held: dict[str, Any] = {}
    for each in past:
        if each.kind == "beliefs":
            held |= each.payload
    for letter, (key, hypothesis) in zip(ascii_uppercase, spec.hypotheses.items(), strict=False):
        said, share = held.get(key), told.get(key)
        yield Believed(
            letter,
            hypothesis.title,
            "open" if said is None else _percent(said),
            f"{said or 0}%",
            "" if share is None else f"{100 * share:.0f} %",
            f"{100 * (share or 0):.1f}%",
            key == truth,
        )


def _percent(said: object) -> str:
    return "ruled out" if said == 0 else f"{said} %"


def _best(
    story: Story,
    table: Table | None,
    entries: Sequence[Entry],
    told: Mapping[str, float],
    moment: Moment,
) -> Best:
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
    following = next((e for e in story.log if e.seq > moment.seq and _kind(e) == "reading"), None)
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


def _reference(story: Story, now_s: int) -> Reference:
    steps = [step for step in _debrief(story).get("reference_steps", []) if step["kind"] != "wait"]
    done = [step for step in steps if step["at_s"] <= now_s]
    ahead = next((step for step in steps if step["at_s"] > now_s), None)
    return Reference(tuple(_step(each) for each in done), _step(ahead) if ahead else "")


def _step(step: Mapping[str, Any]) -> str:
    return f"{clock(step['at_s'])} {step['title']}"


# ----------------------------------------------------------------------------------------- the strip


def _strip(story: Story, moment: Moment, now_s: int) -> StoryStrip:
    spec = story.spec
    addresses = {each.seq for each in story.moments}
    spots = [
        charts.Spot(
            _ROW_OF[kind],
            _CSS.get(kind, "f-edge"),
            each.at_s or 0,
            each.cost_s,
            each.seq == moment.seq,
        )
        for each in story.log
        if each.seq in addresses and (kind := _kind(each)) in _ROW_OF
    ]
    steps = _debrief(story).get("reference_steps", [])
    spots += [
        charts.Spot("reference", _CSS.get(step["kind"], "f-edge"), step["at_s"], step["cost_s"])
        for step in steps
    ]
    ends_s = [each.at_s for each in spots]
    return charts.story_strip(
        story.alarm,
        spots,
        ROWS if steps else ROWS[:-1],
        to_s=max([*ends_s, 60]),
        now_s=now_s,
        healthy_to_s=spec.timeline.fault_at_s,
        target=spec.alarm.target,
        log_scale=spec.signals[spec.alarm.signal].transform in {"ln", "ln1p"},
    )
