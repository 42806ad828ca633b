"""What a class did in labs, from the rows: only learners count, and nobody's name is read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from django.db.models import Max

from labs import reruns
from labs.catalogue import labs
from labs.lab_insight import (
    Changed,
    Diagnosed,
    Handled,
    Insight,
    Worth,
    insight_of,
)
from labs.lab_stops import PHASES, Stopped, Stops, stops_of
from labs.marking.mitigation import ChangeRerun, Rerun, false_fixes
from labs.models import Action, Attempt, KeptReruns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from courseware.models import User
    from labs.models.attempts import AttemptQuerySet
    from labs.specs import LabSpec

PAUSE = timedelta(minutes=30)
"""Nothing done for so long is a pause, and no work."""
LEFT_AFTER = timedelta(days=7)
"""An open attempt in which nothing was done for so long was left."""
_REACHED = {
    Action.Kind.PREDICT: "Predict",
    Action.Kind.DIAGNOSE: "Diagnose",
    Action.Kind.EXPLAIN: "Explain",
    "reading": "Investigate",
    "change": "Change",
    "verification": "Verify",
}
"""By the kind of an action, or of what a command came to: the phase that it belongs to."""


@dataclass(frozen=True)
class Brief:
    """One lab in a line, of the newest version that anybody was marked in."""

    learners: int
    mean: float | None
    """Of the first marks; None without any."""
    passed: int


def versions_of(slug: str, learners: QuerySet[User]) -> list[int]:
    """Return the versions of a lab that learners have begun, the newest first."""
    rows = Attempt.objects.counted().filter(learner__in=learners, lab_slug=slug)
    return sorted(set(rows.values_list("lab_version", flat=True)), reverse=True)


def spec_of(spec: LabSpec, version: int) -> LabSpec:
    """Return a lab as it was in a version that somebody began; as it is served, if that version is gone."""
    attempt = Attempt.objects.filter(lab_slug=spec.slug, lab_version=version).first()
    try:
        return attempt.spec if attempt else spec
    except LookupError:
        return spec


def briefs(learners: QuerySet[User]) -> dict[str, Brief]:
    """Return every lab of the course in a line, in two queries."""
    marked = Attempt.objects.counted().filter(learner__in=learners, status=Attempt.Status.MARKED)
    newest = dict(marked.values_list("lab_slug").annotate(newest=Max("lab_version")))
    firsts: dict[tuple[str, int], tuple[float, bool]] = {}
    for slug, learner, version, total, passed in marked.order_by("number").values_list(
        "lab_slug", "learner", "lab_version", "total", "mark__passed"
    ):
        if total is not None and version == newest[slug]:
            firsts.setdefault((slug, learner), (float(total), bool(passed)))
    found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for (slug, _), each in firsts.items():
        found[slug].append(each)
    return {slug: _brief(found.get(slug, [])) for slug in labs()}


def _brief(firsts: Sequence[tuple[float, bool]]) -> Brief:
    totals = [total for total, _ in firsts]
    average = sum(totals) / len(totals) if totals else None
    return Brief(len(firsts), average, sum(passed for _, passed in firsts))


def _begun(slug: str, version: int, learners: QuerySet[User]) -> AttemptQuerySet:
    return Attempt.objects.counted().filter(
        learner__in=learners, lab_slug=slug, lab_version=version
    )


def insight(spec: LabSpec, version: int, learners: QuerySet[User]) -> Insight | None:
    """Return what a class did in one version of a lab; None while too few have been marked."""
    marked = _begun(spec.slug, version, learners).filter(status=Attempt.Status.MARKED)
    firsts: dict[int, dict[str, Any]] = {}
    for row in marked.order_by("number").values(
        *("pk", "learner", "clock_s", "started_at", "finished_at", "total", "mark__passed"),
        *("mark__parts", "mark__debrief__hypothesis", "mark__debrief__value"),
    ):
        if row["total"] is not None and row["mark__debrief__hypothesis"] is not None:
            firsts.setdefault(row["learner"], row)
    keys = [row["pk"] for row in firsts.values()]
    logs, said, runs = _logs(keys), last_diagnoses(keys), dict(_runs(keys))
    return insight_of(
        _handled(spec, row, logs[pk], said.get(pk), runs.get(pk))
        for row in firsts.values()
        for pk in [row["pk"]]
    )


@dataclass(frozen=True)
class _Entry:
    """One action, as far as it is wanted here."""

    kind: str
    came_to: str
    """Of a command: reading, change, verification, wait."""
    at: datetime


def _logs(keys: Iterable[int]) -> dict[int, list[_Entry]]:
    rows = Action.objects.filter(attempt__in=keys, status=Action.Status.DONE).order_by("seq")
    found: dict[int, list[_Entry]] = defaultdict(list)
    for attempt, kind, came_to, at in rows.values_list(
        "attempt", "kind", "outcome__kind", "created_at"
    ):
        found[attempt].append(_Entry(kind, str(came_to or ""), at))
    return found


def last_diagnoses(keys: Iterable[int]) -> dict[int, Mapping[str, Any]]:
    """Return what the last diagnosis of each attempt said."""
    rows = Action.objects.filter(
        attempt__in=keys, kind=Action.Kind.DIAGNOSE, status=Action.Status.DONE
    )
    return dict(rows.order_by("seq").values_list("attempt", "payload"))


@dataclass(frozen=True)
class _Runs:
    """Of what was simulated for a mark, what says which changes helped."""

    whole: Rerun
    changes: tuple[ChangeRerun, ...]


def _runs(keys: Iterable[int]) -> Iterator[tuple[int, _Runs]]:
    """Yield them by attempt: a hundredth of what is kept, so that a large class is read in a moment."""
    rows = KeptReruns.objects.filter(attempt__in=keys, kept__format=reruns.FORMAT)
    for attempt, whole, atoms in rows.values_list(
        "attempt", "kept__reruns__whole", "kept__reruns__atoms"
    ):
        yield attempt, _Runs(Rerun(**whole), tuple(_change(each) for each in atoms))


def _change(stored: Mapping[str, Any]) -> ChangeRerun:
    alone, without = stored["alone"], stored["without"]
    runs = {"alone": Rerun(**alone), "without": Rerun(**without) if without else None}
    return ChangeRerun(**{**stored, **runs})


def _handled(
    spec: LabSpec,
    row: Mapping[str, Any],
    log: Sequence[_Entry],
    said: Mapping[str, Any] | None,
    runs: _Runs | None,
) -> Handled:
    worths = row["mark__debrief__value"] or []
    parts = {part["name"]: part for part in row["mark__parts"] if part.get("earned") is not None}
    world = row["mark__debrief__hypothesis"]
    return Handled(
        learner=row["learner"],
        world=world,
        total=float(row["total"]),
        passed=bool(row["mark__passed"]),
        parts={name: (part["earned"], part["weight"]) for name, part in parts.items()},
        first=next((each["instrument"] for each in worths if each["yours"]), None),
        worths=tuple(
            Worth(*(each[key] for key in ("instrument", "title", "bits", "seconds", "value")))
            for each in worths
        ),
        clock_s=row["clock_s"],
        worked_s=worked_s([row["started_at"], *(each.at for each in log), row["finished_at"]]),
        changes=tuple(_changes(spec, world, runs)) if runs else (),
        diagnosed=diagnosed(spec, world, said, parts),
    )


def worked_s(moments: Iterable[datetime | None]) -> float:
    """Return the seconds between moments, those apart by a pause left out."""
    known = sorted(at for at in moments if at is not None)
    gaps = [after - before for before, after in pairwise(known)]
    return sum((gap for gap in gaps if gap <= PAUSE), timedelta()).total_seconds()


def _changes(spec: LabSpec, world: str, runs: _Runs) -> Iterator[Changed]:
    """Yield what was changed. It helped if marking takes it for no false fix; where nothing is wrong nothing helps."""
    hypothesis = spec.hypotheses.get(world)
    is_fault = hypothesis is None or hypothesis.answer.scope == "fault"
    for each in runs.changes:
        helped = is_fault and not false_fixes(runs.whole, [each])
        yield Changed(f"{each.target} {each.kind}", change_title(spec, each.kind), helped)


def change_title(spec: LabSpec, kind: str) -> str:
    """Return what a kind of change is called: as the lab calls it, if it offers one such."""
    found = [
        each.title for each in spec.changes.values() if kind in each.command.replace("--no-", "--")
    ]
    if kind == "restart":
        found = [each.title for each in spec.changes.values() if each.command == "restart"]
    words = f"restart {kind}" if kind.startswith("--") else kind
    return found[0] if len(found) == 1 else words


def diagnosed(
    spec: LabSpec, world: str, said: Mapping[str, Any] | None, parts: Mapping[str, Any]
) -> Diagnosed | None:
    """Return what a diagnosis said, and whether it was right in a world; None if there is none with a confidence.

    ``said`` is its payload, ``parts`` are those of the mark, by name.
    """
    if said is None or said.get("confidence") is None:
        return None
    hypothesis = spec.hypotheses.get(world)
    is_fault = hypothesis is None or hypothesis.answer.scope == "fault"
    says_fault = said.get("scope") == "fault"
    credit = parts.get("mechanism", {}).get("details", {}).get("credit")
    named = spec.mechanisms.get(str(said.get("mechanism") or ""))
    words = named.title if named else "no mechanism named"
    return Diagnosed(
        int(said["confidence"]),
        right=says_fault == is_fault and (not is_fault or credit == 1),
        said=words if says_fault else "Nothing is wrong",
    )


def stops(slug: str, version: int, learners: QuerySet[User], now: datetime) -> Stops:
    """Return where people stopped in one version of a lab."""
    rows = _begun(slug, version, learners)
    stopped: list[tuple[int, int, bool]] = [
        (pk, clock_s, True)
        for pk, clock_s in rows.filter(status=Attempt.Status.GIVEN_UP).values_list("pk", "clock_s")
    ]
    still = rows.filter(status=Attempt.Status.OPEN).annotate(last=Max("actions__created_at"))
    stopped += [
        (pk, clock_s, False)
        for pk, clock_s, last in still.values_list("pk", "clock_s", "last")
        if last is not None and now - last >= LEFT_AFTER
    ]
    logs = _logs(pk for pk, _, _ in stopped)
    found = [Stopped(reached(logs[pk]), clock_s, given_up) for pk, clock_s, given_up in stopped]
    return stops_of(found, begun=rows.count())


def reached(log: Iterable[_Entry]) -> str:
    """Return the furthest phase that a log has come to."""
    phases = [
        phase for each in log if (phase := _REACHED.get(each.came_to) or _REACHED.get(each.kind))
    ]
    return max(phases, key=PHASES.index, default="Brief")
