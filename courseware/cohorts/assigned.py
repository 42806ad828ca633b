"""What can be assigned: labs, lessons and drills by the names that people know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.urls import reverse

from courseware.models import Assignment
from labs.catalogue import labs
from lessons import content
from lessons.drills.spec import drills
from lessons.symptoms import symptoms

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Assignment.Kind


@dataclass(frozen=True)
class Item:
    """Something of the course that can be assigned."""

    kind: str
    slug: str
    title: str
    url: str

    @property
    def key(self) -> str:
        """Kind and slug in one word, as a form sends them."""
        return f"{self.kind}:{self.slug}"


def items() -> Mapping[tuple[str, str], Item]:
    """Return everything that can be assigned, by kind and slug, in the order of the course."""
    found = [
        Item(Kind.LAB, slug, f"Lab {spec.number}, {spec.title}", reverse("labs:lab", args=[slug]))
        for slug, spec in labs().items()
    ]
    found += [
        Item(Kind.LESSON, slug, lesson.title, reverse("lessons:lesson", args=[slug]))
        for slug, lesson in content.lessons().items()
    ]
    found += [
        Item(
            Kind.DRILL,
            number,
            f"Drill {number}, {symptoms()[number].symptom}",
            reverse("lookup:drill", args=[number]),
        )
        for number in drills()
    ]
    return {(item.kind, item.slug): item for item in found}


def item_of(assignment: Assignment) -> Item:
    """Return what an assignment is about; what the course has no more keeps its slug as its name."""
    gone = Item(
        assignment.kind, assignment.slug, f"{assignment.slug} (not in the course any more)", ""
    )
    return items().get((assignment.kind, assignment.slug), gone)
