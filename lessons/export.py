"""Everything that is stored about one person, as one JSON value for that person alone.

What is not revealed is not in it: no seed, no computed answer before it is shown, no mark before its debrief.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import F

from labs.models import Attempt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from courseware.models import User
    from labs.models import Action, ReviewOutcome

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "stations_read": ("lesson", "station", "read_at"),
    "check_tries": ("lesson", "check_key", "number", "answer", "right", "hints", "tried_at"),
    "check_hints": ("lesson", "check_key", "number", "asked_at", "opens_at"),
    "check_whys": ("lesson", "check_key", "why", "said_at"),
    "problem_reports": ("lesson", "check_key", "problem", "reported_at", "done_at"),
    "prediction_commits": (
        *("lesson", "prediction", "guess", "confidence", "why"),
        *("committed_at", "seen", "seen_at"),
    ),
    "step_runs": ("lesson", "step", "line", "expected", "asked_at"),
    "keywords_opened": ("lesson", "station", "term", "opened_at"),
    "station_notes": ("lesson", "station", "text", "written_at", "bookmarked_at"),
    "repeat_tries": ("kind", "lesson", "key", "day", "answer", "right", "tried_at"),
    "review_mails": ("wanted", "page", "looked_on"),
    "drill_attempts": (
        *("drill", "version", "stage", "taken", "confidence", "why", "struck", "mechanism"),
        *("fix", "hints", "parts", "total", "begun_at", "finished_at"),
    ),
}
"""Of each kind of row in lessons, by its name on the person: the fields that are theirs to read."""
PLACE = (
    *("cohort__name", "email", "name", "role", "labels", "extra_time_percent"),
    *("joined_at", "removed_at"),
)
"""Of a place in a cohort."""
POINTS_CHANGE = ("title", "before", "of_before", "after", "of_after", "cause", "reason", "at")
REGRADE = ("title", "reason", "status", "asked_at", "before", "after", "answer", "answered_at")
TRAINING = ("lab_slug", "number", "started_at", "finished_at", "off", "most_off", "passed")
"""Of a grader's try at a lab's training set."""
LEASE = ("status", "requested_at", "claimed_at", "ready_at", "ended_at", "end_reason", "end_text")
"""Of an engine that an attempt was lent. Its log is the operator's."""
_COMPUTED = {"prediction_commits": {"computed": F("answer__result__answer")}}
"""None until it is computed; from then on its station shows it."""


def everything_about(learner: User) -> dict[str, Any]:
    """Return all that is stored of a person: who they are, their work in lessons, their attempts in labs."""
    return {
        "person": {
            "email": learner.email,
            "name": learner.name,
            "role": learner.role,
            "joined_at": learner.date_joined,
            "last_signed_in_at": learner.last_login,
        },
        "lessons": {
            name: list(
                getattr(learner, name).order_by("pk").values(*fields, **_COMPUTED.get(name, {}))
            )
            for name, fields in SECTIONS.items()
        },
        "training": list(learner.training_runs.order_by("pk").values(*TRAINING)),
        "cohorts": list(learner.memberships.order_by("pk").values(*PLACE)),
        "labs": [
            _attempt(attempt)
            for attempt in Attempt.objects.of(learner)
            .order_by("pk")
            .select_related("review_outcome")
            .prefetch_related("actions")
        ],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    marked = attempt.status == Attempt.Status.MARKED
    mark = attempt.mark or {} if marked else {}
    return {
        "lab": attempt.lab_slug,
        "version": attempt.lab_version,
        "number": attempt.number,
        "status": attempt.status,
        "backend": attempt.backend,
        "leases": list(attempt.leases.values(*LEASE)) if attempt.is_live else [],
        "clock_s": attempt.clock_s,
        "started_at": attempt.started_at,
        "finished_at": attempt.finished_at,
        "total": attempt.total if marked else None,
        "passed": mark.get("passed"),
        "parts": mark.get("parts", []),
        "actions": [_action(action) for action in attempt.actions.all()],
        "review": _review(attempt),
    }


def _action(action: Action) -> dict[str, Any]:
    return {
        "number": action.seq,
        "kind": action.kind,
        "status": action.status,
        "asked": action.payload,
        # The text is what the room showed; the rest of an outcome is what marking reads.
        "answer": (action.outcome or {}).get("text", ""),
        "at_s": action.at_s,
        "cost_s": action.cost_s,
        "created_at": action.created_at,
    }


def _review(attempt: Attempt) -> dict[str, Any] | None:
    """Return what graders gave and wrote, once it is released, and how it changed since."""
    outcome: ReviewOutcome | None = getattr(attempt, "review_outcome", None)
    if outcome is None:
        return None
    return {
        "points": outcome.points,
        "comment": outcome.comment,
        "released_at": outcome.released_at,
        "changes": list(outcome.changes.values(*POINTS_CHANGE)),
        "requests": list(attempt.regrade_requests.values(*REGRADE)),
    }
