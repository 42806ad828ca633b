"""Who sees whose name. Every page of the review asks here, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from courseware.people import may_author
from labs.reading_rules import rules_of

if TYPE_CHECKING:
    from courseware.models import User
    from labs.models import Attempt, ReadingRules


def sees_names(viewer: User, rules: ReadingRules) -> bool:
    """Whether a reader is told who wrote what they read."""
    return rules.instructors_see_names if may_author(viewer) else rules.graders_see_names


def author_of(attempt: Attempt, viewer: User, rules: ReadingRules | None = None) -> str:
    """Return who wrote an explanation, for somebody who reads it; empty if they are not told."""
    told = sees_names(viewer, rules or rules_of(attempt.lab_slug))
    return str(attempt.learner) if told else ""
