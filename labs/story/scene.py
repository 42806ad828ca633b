"""The state of an attempt right after one of its moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs import charts
from labs.incident import clock
from labs.review_desk import Value, shown_value, signal_title
from labs.story.moments import debrief_of, entry_of, kind_of
from labs.story.strip import strip_of
from labs.story.told import believed, best_next, told_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from labs.charts import StoryStrip
    from labs.marking.table import Table
    from labs.review_desk import Logged, Moment
    from labs.specs import LabSpec
    from labs.story.moments import Story
    from labs.story.told import Believed, Best


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


def scene_of(
    story: Story, moment: Moment, *, table: Table | None, healthy: Mapping[str, str]
) -> Scene:
    """Return the state right after a moment. ``table`` is None for a lab whose table is not at hand.

    ``healthy`` says what each signal reads when all is well. Takes up to 0.2 s while the table is asked.
    """
    spec = story.spec
    past = [each for each in story.log if each.seq <= moment.seq]
    entries = [entry_of(each) for each in past]
    now_s = past[-1].at_s or 0
    place = story.moments.index(moment)
    verified = next((e for e in reversed(past) if kind_of(e) == "verification"), None)
    signals = (verified.outcome or {}).get("signals", {}) if verified else {}
    told = told_by(spec, table, entries)
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
        spent=clock(sum(e.cost_s for e in past if kind_of(e) in {"reading", "wait"})),
        in_force=tuple(
            str((each.outcome or {}).get("text", "")).partition("\n")[0]
            for each in past
            if kind_of(each) == "change"
        ),
        known=tuple(_known(spec, past, healthy)),
        believed=tuple(believed(spec, past, told, str(debrief_of(story).get("hypothesis", "")))),
        best=best_next(story, table, entries, told, moment),
        reference=_reference(story, now_s),
        strip=strip_of(story, moment, now_s),
        spoken=_spoken(story, moment, place),
    )


def _spoken(story: Story, moment: Moment, place: int) -> str:
    number = f" {moment.number}" if moment.number else ""
    return (
        f"Moment {place + 1} of {len(story.moments)}, {moment.at}: "
        f"{moment.word}{number}, {moment.title}"
    )


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
        if kind_of(each) not in {"reading", "verification"}:
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


def _reference(story: Story, now_s: int) -> Reference:
    steps = [
        step for step in debrief_of(story).get("reference_steps", []) if step["kind"] != "wait"
    ]
    done = [step for step in steps if step["at_s"] <= now_s]
    ahead = next((step for step in steps if step["at_s"] > now_s), None)
    return Reference(tuple(_step(each) for each in done), _step(ahead) if ahead else "")


def _step(step: Mapping[str, Any]) -> str:
    return f"{clock(step['at_s'])} {step['title']}"
