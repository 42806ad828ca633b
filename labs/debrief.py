"""Log and mark, as JSON values, become what the debrief shows: names for ids, sentences, figures, lanes and steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs import charts
from labs.incident import clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.specs import LabSpec

FROM_S = -600
"""The paths are drawn from ten minutes before the page."""
GOOD_SHARE = 0.75
_TITLES = {
    "scope": "Scope",
    "localisation": "Localisation",
    "mechanism": "Mechanism",
    "evidence": "Evidence",
    "mitigation": "Mitigation",
    "economy": "Economy",
}
_VERDICTS = {
    "link": ("ok", "check", "a link of the proof"),
    "repeat": ("", "half", "a link that you had already"),
    "off-chain": ("", "half", "true, beside the point"),
    "void": ("bad", "cross", "proves nothing"),
}
_ICONS = {"reading": "reading", "change": "change", "verification": "verify", "wait": "clock"}


@dataclass(frozen=True)
class Entry:
    """One entry of the log that was done, as the page has it."""

    kind: str
    payload: Mapping[str, Any]
    outcome: Mapping[str, Any]
    at_s: int = 0
    cost_s: int = 0


@dataclass(frozen=True)
class Step:
    """One line of a path."""

    kind: str
    icon: str
    numbers: str
    title: str
    cost: str


@dataclass(frozen=True)
class PartShown:
    name: str
    title: str
    reason: str
    earned: str
    weight: int
    width: str
    """Of the bar, in per cent."""
    citations: tuple[CitationShown, ...] = ()


@dataclass(frozen=True)
class CitationShown:
    reading: int
    title: str
    role: str
    css: str
    icon: str
    verdict: str


@dataclass(frozen=True)
class Path:
    """One of the two paths: its lane and its steps."""

    name: str
    ends: str
    lane: charts.Lane
    steps: tuple[Step, ...]


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
    paths_table: tuple[tuple[str, str, str, str], ...]
    paths: tuple[Path, ...]
    value_figure: charts.Figure
    value_spoken: str
    value_rows: tuple[Mapping[str, Any], ...]
    worlds: int
    waste: str
    posterior: tuple[Mapping[str, Any], ...]
    prediction: Mapping[str, Any] | None
    page_load: str


def debrief(
    spec: LabSpec, mark: Mapping[str, Any], log: Sequence[Entry], *, clock_s: int
) -> Debrief:
    """Return what the debrief of a marked attempt shows. ``mark`` is a Judgement as JSON values."""
    known = mark["debrief"]
    parts = {part["name"]: part for part in mark["parts"]}
    value = sorted(known["value"], key=lambda row: (-float(row["value"]), str(row["title"])))
    first = _first(value)
    steps = _own_steps(spec, log)
    reference = _reference_steps(spec, known["reference_steps"])
    runs = {name: known["ttft"][name] for name in ("you", "reference", "untouched")}
    last_s = max((int(points[-1][0]) for points in runs.values() if points), default=clock_s)
    ends = {
        "you": max((step.at_s for step in steps), default=clock_s),
        "reference": max((step.at_s for step in reference), default=0),
    }
    target_s = spec.alarm.ttft_p95_above_s
    return Debrief(
        headline=_headline(parts, log),
        lead=_lead(known, first),
        world=spec.hypotheses[known["hypothesis"]].title,
        seed=int(known["seed"]),
        total=f"{mark['total']:.1f}",
        passed=bool(mark["passed"]),
        verdict=_verdict(mark),
        users={name: f"{count:,}" for name, count in known["users_hurt"].items()},
        minutes={
            "you": clock(clock_s),
            "budget": clock(spec.timeline.budget_s),
            "reference": clock(ends["reference"]),
        },
        first=first,
        parts=tuple(_part(spec, parts[name]) for name in _TITLES if name in parts),
        paths_figure=charts.paths_figure(runs, from_s=FROM_S, to_s=last_s, target_s=target_s),
        paths_spoken=_paths_spoken(runs, target_s),
        paths_table=_paths_table(runs),
        paths=(
            _path("You", clock_s, steps, last_s),
            _path("Reference", ends["reference"], reference, last_s),
        ),
        value_figure=charts.value_figure(value),
        value_spoken="Bits a minute by instrument. "
        + ", ".join(
            f"{row['title']} {row['value']:.2f}{' which was your first' if row['yours'] else ''}"
            for row in value
        )
        + ".",
        value_rows=tuple(
            {**row, "cost": clock(float(row["seconds"])), "value": f"{row['value']:.2f}"}
            | {"bits": f"{row['bits']:.2f}"}
            for row in value
        ),
        worlds=len(spec.hypotheses),
        waste=clock(float(known["waste_s"])),
        posterior=_posterior(spec, known),
        prediction=_prediction(known["prediction"]),
        page_load=f"{known['page_load']:.2f}" if known.get("page_load") else "",
    )


# ------------------------------------------------------------------------------------ the sentences


def _headline(parts: Mapping[str, Any], log: Sequence[Entry]) -> str:
    diagnosed = any(entry.kind == "diagnose" for entry in log)
    credit = float(parts["mechanism"]["details"].get("credit") or 0)
    mitigation = parts["mitigation"]
    held = mitigation["earned"] >= GOOD_SHARE * mitigation["weight"]
    changed = bool(mitigation["details"].get("changed", True))
    if not diagnosed:
        return "It held, and you never said why" if held else "No diagnosis, and no cure that held"
    if credit == 1:
        if held:
            return "Right cause, and the fix held"
        return (
            "Right cause, but the fix did not hold" if changed else "Right cause, nothing changed"
        )
    if held:
        return "The fix held, the story does not"
    return "Close to the cause, not at it" if credit > 0 else "Another world than the one you named"


def _lead(known: Mapping[str, Any], first: Mapping[str, str]) -> str:
    sentences = []
    users = known["users_hurt"]
    more = int(users["you"]) - int(users["reference"])
    spared = int(users["untouched"]) - int(users["you"])
    if more > 0:
        sentences.append(f"On the way, {_people(more, 'more')} hurt than in the reference run.")
    else:
        sentences.append("Nobody was hurt whom the reference run would have spared.")
    if spared > 0:
        sentences.append(
            f"Your work spared {spared:,} of those whom doing nothing would have hurt."
        )
    if first.get("share") == "100 %":
        sentences.append("Your first measurement was the best that one could take.")
    elif first.get("share"):
        sentences.append(
            f"Your first measurement bought {first['share']} of what the best one buys."
        )
    else:
        sentences.append("You took no measurement before you acted.")
    return " ".join(sentences)


def _people(count: int, more: str) -> str:
    return f"{count:,} {more} {'person was' if count == 1 else 'people were'}"


def _verdict(mark: Mapping[str, Any]) -> str:
    if mark["passed"]:
        return "passes"
    reason = str(mark["reason"])
    return reason.partition("; ")[2].rstrip(".") or "does not pass"


def _first(value: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    best = value[0] if value else None
    yours = next((row for row in value if row["yours"]), None)
    if best is None or yours is None or not best["value"]:
        return {"share": "", "title": "", "best": str(best["title"]) if best else ""}
    share = float(yours["value"]) / float(best["value"])
    return {
        "share": f"{share:.0%}".replace("%", " %"),
        "title": str(yours["title"]),
        "best": str(best["title"]),
    }


def _part(spec: LabSpec, part: Mapping[str, Any]) -> PartShown:
    earned, weight = float(part["earned"]), int(part["weight"])
    return PartShown(
        name=str(part["name"]),
        title=_TITLES[part["name"]],
        reason=_reason(spec, part),
        earned=f"{earned:g}",
        weight=weight,
        width=f"{100 * earned / weight:.1f}%",
        citations=tuple(
            _citation(spec, each) for each in part.get("details", {}).get("citations", [])
        ),
    )


def _reason(spec: LabSpec, part: Mapping[str, Any]) -> str:
    """Return the reason with titles where marking has ids."""
    details, reason = part.get("details", {}), str(part["reason"])
    objectives = {key: slo.title for key, slo in spec.slos.items()}
    if part["name"] == "scope" and "jaccard" in details:
        named = _listed([objectives.get(key, key) for key in details["named"]])
        hurt = _listed([objectives.get(key, key) for key in details["hurt"]])
        said = f"You said that there is a fault, and named {named or 'no promise'}."
        return f"{said} Hurt: {hurt or 'none'}."
    names = {key: node.title for key, node in spec.nodes.items()}
    if part["name"] == "mitigation":
        names = objectives
    elif part["name"] != "localisation":
        return reason
    for key in sorted(names, key=len, reverse=True):
        reason = re.sub(rf"\b{re.escape(key)}\b(?!”)", f"“{names[key]}”", reason)
    return reason


def _listed(items: Sequence[str]) -> str:
    quoted = [f"“{item}”" for item in items]
    if len(quoted) <= 1:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _citation(spec: LabSpec, each: Mapping[str, Any]) -> CitationShown:
    signal = spec.signals.get(each["signal"])
    rival = spec.hypotheses.get(each.get("rival") or "")
    css, icon, verdict = _VERDICTS.get(str(each["verdict"]), ("", "half", str(each["verdict"])))
    return CitationShown(
        reading=int(each["reading"]),
        title=signal.title if signal else str(each["signal"]),
        role=f"rules out: {rival.title}" if rival else "shows the fault",
        css=css,
        icon=icon,
        verdict=verdict,
    )


# ---------------------------------------------------------------------------------------- the paths


@dataclass(frozen=True)
class _Taken:
    kind: str
    number: int
    at_s: int
    cost_s: int
    title: str
    looks: bool = False
    """A wait, or a look at the alarm's own panel: what one does while a backlog drains."""


def _own_steps(spec: LabSpec, log: Sequence[Entry]) -> list[_Taken]:
    steps: list[_Taken] = []
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
            title = _verified(outcome)
        elif kind == "wait":
            title = f"Waited {clock(entry.cost_s)}"
        looks = kind == "wait" or bool(instrument and instrument.is_alarm)
        number = int(outcome.get("number", 0))
        steps.append(_Taken(kind, number, entry.at_s, entry.cost_s, title, looks))
    return steps


def _verified(outcome: Mapping[str, Any]) -> str:
    signals = outcome.get("signals", {})
    ttft, gap = signals.get("ttft_p95_s"), signals.get("gap_p95_s")
    first = "no first token" if ttft is None else f"p95 TTFT {charts.number(ttft)} s"
    pause = "no gap to measure" if gap is None else f"longest gap {charts.number(gap)} s"
    return f"Verified: {first}, {pause}"


def _reference_steps(spec: LabSpec, steps: Sequence[Mapping[str, Any]]) -> list[_Taken]:
    panels = {each.title for each in spec.instruments.values() if each.is_alarm}
    return [
        _Taken(
            str(step["kind"]),
            number,
            int(step["at_s"]),
            int(step["cost_s"]),
            str(step["title"]),
            step["kind"] == "wait" or step["title"] in panels,
        )
        for number, step in enumerate(steps, start=1)
    ]


def _path(name: str, ends_s: int, steps: Sequence[_Taken], to_s: int) -> Path:
    lane = charts.lane(
        (charts.Done(step.kind, step.number, step.at_s, step.cost_s) for step in steps),
        from_s=FROM_S,
        to_s=to_s,
    )
    return Path(name, clock(ends_s), lane, tuple(_lines(steps)))


def _lines(steps: Sequence[_Taken]) -> list[Step]:
    """Return the steps as lines; waits and looks at the panel in a row are one."""
    lines: list[Step] = []
    run: list[_Taken] = []

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


def _paths_spoken(runs: Mapping[str, Any], target_s: float) -> str:
    told = []
    for name, points in runs.items():
        after = [(t, v) for t, v in points if t >= 0 and v is not None]
        missed = [t for t, v in after if v > target_s]
        if not missed:
            told.append(f"{name} within the target all the time")
        elif after and missed[-1] == after[-1][0]:
            told.append(f"{name} at {charts.number(after[-1][1])} s at the end")
        else:
            told.append(f"{name} back within the target by {clock(missed[-1])}")
    return (
        f"p95 TTFT on a log scale in three runs of the same traffic: {', '.join(told)}. "
        f"Target {target_s:g} s."
    )


def _paths_table(runs: Mapping[str, Any]) -> tuple[tuple[str, str, str, str], ...]:
    by_name = {name: {int(t): v for t, v in points} for name, points in runs.items()}
    times = sorted({t for found in by_name.values() for t in found if t >= FROM_S and t % 300 == 0})

    def shown(name: str, t: int) -> str:
        value = by_name[name].get(t)
        return charts.number(value)

    return tuple(
        (clock(t), shown("you", t), shown("reference", t), shown("untouched", t)) for t in times
    )


# ------------------------------------------------------------------------------- doubt, predictions


def _posterior(spec: LabSpec, known: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
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


def _prediction(found: Mapping[str, Any]) -> dict[str, Any] | None:
    if found.get("value") is None or found.get("truth") is None:
        return None
    error = float(found["error"])
    factor = 2 ** abs(error)
    off = f"{factor:.1f}" if factor < 10 else f"{factor:.0f}"  # noqa: PLR2004
    return {
        "question": found["question"],
        "unit": found["unit"],
        "said": f"{float(found["value"]):,.6g}",
        "truth": charts.number(float(found["truth"])),
        "confidence": found["confidence"],
        "why": found.get("why", ""),
        "off": f"× {off}",
        "way": "within a quarter of it" if found["hit"] else "too low" if error < 0 else "too high",
        "hit": bool(found["hit"]),
        "brier": f"{float(found['brier']):.2f}",
    }


def review(spec: LabSpec, points: Sequence[int], comment: str) -> dict[str, Any]:
    """Return a released review: points against the rubric, and what the grader wrote."""
    rows = [
        {"title": item.title, "given": given, "of": item.points}
        for item, given in zip(spec.rubric, points, strict=False)
    ]
    return {
        "rows": rows,
        "score": sum(row["given"] for row in rows),
        "of": sum(item.points for item in spec.rubric),
        "comment": comment,
    }
