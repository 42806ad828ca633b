"""The steps of a path, own or the reference's, as lines: waits and looks at the panel in a row are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs import charts
from labs.incident import clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.log import Entry
    from labs.specs import LabSpec

_ICONS = {"reading": "reading", "change": "change", "verification": "verify", "wait": "clock"}


@dataclass(frozen=True)
class Step:
    """One line of a path."""

    kind: str
    icon: str
    numbers: str
    title: str
    cost: str


@dataclass(frozen=True)
class Taken:
    """One action that took incident time."""

    kind: str
    number: int
    at_s: int
    cost_s: int
    title: str
    looks: bool = False
    """A wait, or a look at the alarm's own panel: what one does while a backlog drains."""


def own_steps(spec: LabSpec, log: Sequence[Entry]) -> list[Taken]:
    steps: list[Taken] = []
    for entry in log:
        if entry.kind != "command" or not entry.cost_s:
            continue
        outcome = entry.outcome
        kind = str(outcome["kind"])
        instrument = spec.instruments.get(str(outcome.get("instrument", "")))
        title = str(outcome.get("text", "")).partition("\n")[0]
        if kind == "reading" and instrument is not None:
            title = instrument.title
        elif kind == "verification":
            title = _verified(spec, outcome)
        elif kind == "wait":
            title = f"Waited {clock(entry.cost_s)}"
        looks = kind == "wait" or bool(instrument and instrument.is_alarm)
        number = int(outcome.get("number", 0))
        steps.append(Taken(kind, number, entry.at_s, entry.cost_s, title, looks))
    return steps


def _verified(spec: LabSpec, outcome: Mapping[str, Any]) -> str:
    signals = outcome.get("signals", {})
    value = signals.get(spec.alarm.signal)
    unit = f" {spec.alarm_unit}" if spec.alarm_unit else ""
    shown = value if isinstance(value, str) else f"{charts.number(value)}{unit}"
    kept = sum(
        (share := signals.get(f"promise:{name}")) is not None and share >= slo.target
        for name, slo in spec.slos.items()
    )
    return f"Verified: {spec.alarm_title}: {shown}; {kept} of {len(spec.slos)} promises kept"


def reference_steps(spec: LabSpec, steps: Sequence[Mapping[str, Any]]) -> list[Taken]:
    panels = {each.title for each in spec.instruments.values() if each.is_alarm}
    return [
        Taken(
            str(step["kind"]),
            number,
            int(step["at_s"]),
            int(step["cost_s"]),
            str(step["title"]),
            step["kind"] == "wait" or step["title"] in panels,
        )
        for number, step in enumerate(steps, start=1)
    ]


def as_lines(steps: Sequence[Taken]) -> list[Step]:
    """Return the steps as lines; waits and looks at the panel in a row are one."""
    lines: list[Step] = []
    run: list[Taken] = []

    def close() -> None:
        if not run:
            return
        looks = sum(step.kind == "reading" for step in run)
        cost = clock(sum(step.cost_s for step in run))
        if len(run) == 1:
            title = run[0].title
        elif looks == len(run):
            title = f"Looked at the panel, {looks} times"
        else:
            times = {0: "", 1: ", looked at the panel once"}.get(
                looks, f", looked at the panel {looks} times"
            )
            title = f"Waited{times}"
        kind = "reading" if looks == len(run) else "wait"
        first, last = run[0].number, run[-1].number
        numbers = f"{first}" if first == last else f"{first}–{last}"
        lines.append(Step(kind, _ICONS[kind], numbers, title, cost))
        run.clear()

    for step in steps:
        if step.looks:
            run.append(step)
            continue
        close()
        icon = _ICONS.get(step.kind, "reading")
        lines.append(Step(step.kind, icon, str(step.number), step.title, clock(step.cost_s)))
    close()
    return lines
