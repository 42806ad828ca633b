"""The debrief as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs import charts
from labs.debrief import paths, value
from labs.debrief.headline import headline, lead, verdict
from labs.debrief.parts import parts_shown
from labs.debrief.prediction import prediction_shown
from labs.debrief.steps import own_steps, reference_steps
from labs.incident import clock
from labs.specs import unit_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.debrief.parts import PartShown
    from labs.debrief.paths import Path
    from labs.log import Entry
    from labs.specs import LabSpec


@dataclass(frozen=True)
class Debrief:
    headline: str
    lead: str
    world: str
    seed: int
    total: str
    passed: bool
    verdict: str
    users: Mapping[str, str]
    minutes: Mapping[str, str]
    first: Mapping[str, str]
    parts: tuple[PartShown, ...]
    paths_figure: charts.Figure
    paths_spoken: str
    paths_table: tuple[tuple[str, ...], ...]
    paths: tuple[Path, ...]
    value_figure: charts.Figure
    value_spoken: str
    value_rows: tuple[Mapping[str, Any], ...]
    worlds: int
    waste: str
    posterior: tuple[Mapping[str, Any], ...]
    prediction: Mapping[str, Any] | None
    parameter: str
    alarm_title: str
    alarm_unit: str
    alarm_scale: str


def debrief(
    spec: LabSpec, mark: Mapping[str, Any], log: Sequence[Entry], *, clock_s: int
) -> Debrief:
    """Return what the debrief of a marked attempt shows. ``mark`` is a Judgement as JSON values."""
    known = mark["debrief"]
    parts = {part["name"]: part for part in mark["parts"]}
    instruments = sorted(known["value"], key=lambda row: (-float(row["value"]), str(row["title"])))
    first = value.first_measurement(instruments)
    steps = own_steps(spec, log)
    reference = reference_steps(spec, known["reference_steps"])
    runs = {name: known["alarm"][name] for name in ("you", "reference", "untouched")}
    last_s = max((int(points[-1][0]) for points in runs.values() if points), default=clock_s)
    span = (paths.from_s(spec), last_s)
    log_scale = spec.signals[spec.alarm.signal].transform in {"ln", "ln1p"}
    reference_ends_s = max((step.at_s for step in reference), default=0)
    return Debrief(
        headline=headline(parts, log),
        lead=lead(known, first, is_live=spec.live is not None),
        world=spec.hypotheses[known["hypothesis"]].title,
        seed=int(known["seed"]),
        total=f"{mark['total']:.1f}",
        passed=bool(mark["passed"]),
        verdict=verdict(mark),
        users={name: f"{count:,}" for name, count in known["users_hurt"].items()},
        minutes={
            "you": clock(clock_s),
            "budget": clock(spec.timeline.budget_s),
            "reference": clock(reference_ends_s),
        },
        first=first,
        parts=parts_shown(spec, parts),
        paths_figure=charts.paths_figure(
            runs, from_s=span[0], to_s=last_s, target=spec.alarm.target, log_scale=log_scale
        ),
        paths_spoken=paths.spoken(runs, spec),
        paths_table=paths.table(runs, spec),
        paths=(
            paths.path("You", clock_s, steps, span),
            paths.path("Reference", reference_ends_s, reference, span),
        ),
        value_figure=charts.value_figure(instruments),
        value_spoken=value.spoken(instruments),
        value_rows=value.table(instruments),
        worlds=len(spec.hypotheses),
        waste=clock(float(known["waste_s"])),
        posterior=value.posterior(spec, known),
        prediction=prediction_shown(known["prediction"]),
        parameter=_parameter(spec, known),
        alarm_title=spec.alarm_title,
        alarm_unit=spec.alarm_unit,
        alarm_scale="log scale" if log_scale else "linear scale",
    )


def _parameter(spec: LabSpec, known: Mapping[str, Any]) -> str:
    """Return the number that was asked along with the mechanism, as the world had it at the page."""
    name = spec.hypotheses[known["hypothesis"]].answer.parameter
    if name is None or not known.get("parameter"):
        return ""
    signal = spec.signals[name]
    unit = f" {unit_word(signal.unit)}".rstrip()
    return f"{signal.title}: {charts.number(known['parameter'])}{unit}"
