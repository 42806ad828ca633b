"""How sure a class was in labs, and whether it was right: predictions and last diagnoses, of each learner's first marked attempt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Max

from labs.catalogue import labs
from labs.class_attempts import diagnosed, last_diagnoses
from labs.models import Attempt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from courseware.models import User


@dataclass(frozen=True)
class SaidInLab:
    """One thing that one learner said in one lab, and how sure they were of it."""

    learner: int
    slug: str
    version: int
    is_diagnosis: bool
    """Otherwise it is the prediction."""
    percent: int
    right: bool
    answer: str
    """Of a diagnosis, its mechanism in words."""
    said: float | None = None
    """Of a prediction, with what came."""
    came: float | None = None


def said_in_labs(learners: QuerySet[User]) -> Iterator[SaidInLab]:
    """Yield what these learners predicted and diagnosed in the newest version of each lab that anybody was marked in."""
    marked = Attempt.objects.filter(
        learner__in=learners, status=Attempt.Status.MARKED, lab_slug__in=labs()
    )
    newest = dict(marked.values_list("lab_slug").annotate(newest=Max("lab_version")))
    firsts: dict[tuple[str, int], Mapping[str, Any]] = {}
    rows = marked.order_by("number").values(
        *("pk", "learner", "lab_slug", "lab_version"),
        *("mark__parts", "mark__debrief__hypothesis", "mark__debrief__prediction"),
    )
    for row in rows:
        slug = row["lab_slug"]
        if row["lab_version"] == newest[slug] and row["mark__debrief__hypothesis"] is not None:
            firsts.setdefault((slug, row["learner"]), row)
    last = last_diagnoses([row["pk"] for row in firsts.values()])
    for row in firsts.values():
        yield from _predicted(row)
        yield from _diagnosed(row, last.get(row["pk"]))


def _predicted(row: Mapping[str, Any]) -> Iterator[SaidInLab]:
    found = row["mark__debrief__prediction"] or {}
    if found.get("hit") is not None and found.get("confidence") is not None:
        yield SaidInLab(
            *(row["learner"], row["lab_slug"], row["lab_version"]),
            is_diagnosis=False,
            percent=int(found["confidence"]),
            right=bool(found["hit"]),
            answer="",
            said=float(found["value"]),
            came=float(found["truth"]),
        )


def _diagnosed(row: Mapping[str, Any], said: Mapping[str, Any] | None) -> Iterator[SaidInLab]:
    parts = {part["name"]: part for part in row["mark__parts"]}
    found = diagnosed(labs()[row["lab_slug"]], row["mark__debrief__hypothesis"], said, parts)
    if found is not None:
        yield SaidInLab(
            *(row["learner"], row["lab_slug"], row["lab_version"]),
            is_diagnosis=True,
            percent=found.confidence,
            right=found.right,
            answer=found.said,
        )
