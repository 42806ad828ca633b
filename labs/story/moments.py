"""A story as a whole: its moments, and what it takes to show one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from labs.log import Entry
from labs.review_desk import moments_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.review_desk import Logged, Moment
    from labs.specs import LabSpec


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
        f"{ascii_uppercase[keys.index(key)]} {percent(moved[key])}" for key in keys if key in moved
    )
    return replace(run[-1], title=title)


def entry_of(each: Logged) -> Entry:
    """Return an action as marking reads it."""
    return Entry(str(each.kind), each.payload, each.outcome or {}, each.at_s or 0, each.cost_s)


def kind_of(each: Logged) -> str:
    """Return what an entry of the log is: reading, change, wait, diagnose and so on."""
    return str((each.outcome or {}).get("kind", "")) if each.kind == "command" else str(each.kind)


def debrief_of(story: Story) -> Mapping[str, Any]:
    """Return what the mark kept for the debrief; empty for an attempt without one."""
    found: Mapping[str, Any] = story.mark.get("debrief", {})
    return found


def percent(said: object) -> str:
    """Return a belief in words."""
    return "ruled out" if said == 0 else f"{said} %"
