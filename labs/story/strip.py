"""The story on one axis of incident time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs import charts
from labs.story.moments import debrief_of, kind_of

if TYPE_CHECKING:
    from labs.charts import StoryStrip
    from labs.review_desk import Moment
    from labs.story.moments import Story

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


def strip_of(story: Story, moment: Moment, now_s: int) -> StoryStrip:
    """Return the axis with a moment marked: the alarm, a lane for each kind of thing that was done, the reference."""
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
        if each.seq in addresses and (kind := kind_of(each)) in _ROW_OF
    ]
    steps = debrief_of(story).get("reference_steps", [])
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
