"""The two paths side by side: their lanes, and what the alarm read in the three runs as figure, sentence and table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs import charts
from labs.debrief.steps import Step, Taken, as_lines
from labs.incident import clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.specs import LabSpec

_COUNTED = {2: "two", 3: "three"}
MOST_BEFORE_S = 600


def from_s(spec: LabSpec) -> int:
    """Return from when on paths are shown: ten minutes before the page, or as far as people may see."""
    return max(-MOST_BEFORE_S, spec.timeline.healthy_from_s)


"""The paths are drawn from ten minutes before the page."""


@dataclass(frozen=True)
class Path:
    """One of the two paths: its lane and its steps."""

    name: str
    ends: str
    lane: charts.Lane
    steps: tuple[Step, ...]


def path(name: str, ends_s: int, steps: Sequence[Taken], span: tuple[int, int]) -> Path:
    lane = charts.lane(
        (charts.Done(step.kind, step.number, step.at_s, step.cost_s) for step in steps),
        from_s=span[0],
        to_s=span[1],
    )
    return Path(name, clock(ends_s), lane, tuple(as_lines(steps)))


def spoken(runs: Mapping[str, Any], spec: LabSpec) -> str:
    told = []
    unit = f" {spec.alarm_unit}" if spec.alarm_unit else ""
    for name, points in runs.items():
        after = [(t, v) for t, v in points if t >= 0 and v is not None]
        missed = [t for t, v in after if spec.alarm.rings(v)]
        if not missed:
            told.append(f"{name} within the target all the time")
        elif after and missed[-1] == after[-1][0]:
            told.append(f"{name} at {charts.number(after[-1][1])}{unit} at the end")
        else:
            told.append(f"{name} back within the target by {clock(missed[-1])}")
    return (
        f"{spec.alarm_title} in {_COUNTED[len(runs)]} runs of the same traffic: {', '.join(told)}. "
        f"Target {spec.alarm.target:g}{unit}."
    )


def table(runs: Mapping[str, Any], spec: LabSpec) -> tuple[tuple[str, ...], ...]:
    """Return a row every five minutes (the lab's usual window): the clock, then what each run read, as ``runs`` are."""
    every_s, first_s = round(spec.windows.panel_s), from_s(spec)
    by_name = {name: {int(t): v for t, v in points} for name, points in runs.items()}
    times = sorted(
        {t for found in by_name.values() for t in found if t >= first_s and t % every_s == 0}
    )

    def shown(name: str, t: int) -> str:
        value = by_name[name].get(t)
        return charts.number(value)

    return tuple((clock(t), *(shown(name, t) for name in runs)) for t in times)
