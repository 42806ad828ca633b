"""The smallest valid rows."""

import uuid
from collections.abc import Sequence
from datetime import timedelta

import factory
from django.utils import timezone
from factory.django import DjangoModelFactory

from courseware.models import Assignment, Cohort, Membership, User
from labs.models import Action, Attempt, Review, next_seq
from labs.review_points import Draft
from labs.rubric_editions import at


class UserFactory(DjangoModelFactory):
    """A learner without a password; tests sign people in by ``force_login``."""

    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"person{n}@example.org")
    name = factory.Sequence(lambda n: f"Person {n}")
    role = User.Role.LEARNER
    password = "!"


def by_key(points: Sequence[float | None]) -> dict[str, float | None]:
    """Return points of the first lab, given in the order of its rubric, as a review stores them."""
    return dict(zip(at("preemption-storm", 0).rubric.keys, points, strict=True))


def draft(points: Sequence[int | None], comment: str = "") -> Draft:
    """Return what a grader gives at the first lab, in the order of its rubric."""
    return Draft(by_key(points), comment)


class AttemptFactory(DjangoModelFactory):
    """A marked attempt at the first lab, with an empty log."""

    class Meta:
        model = Attempt

    learner = factory.SubFactory(UserFactory)
    lab_slug = "preemption-storm"
    lab_version = 1
    seed = 1
    number = factory.Sequence(lambda n: n + 1)
    status = Attempt.Status.MARKED


class ActionFactory(DjangoModelFactory):
    """One command of an attempt's log, done; the next in the log."""

    class Meta:
        model = Action

    attempt = factory.SubFactory(AttemptFactory)
    seq = factory.LazyAttribute(lambda action: next_seq(action.attempt.pk))
    kind = Action.Kind.COMMAND
    status = Action.Status.DONE


class ReviewFactory(DjangoModelFactory):
    """The review of a marked attempt: nobody has claimed it."""

    class Meta:
        model = Review

    attempt = factory.SubFactory(AttemptFactory)


def make_review() -> Review:
    """Make a review of an attempt with a whole log: predicted, read, diagnosed, changed, verified, explained."""
    part = {"name": "mechanism", "earned": 22.5, "weight": 25, "reason": "Load 1.14 against 1.10."}
    mark = {"total": 92.9, "passed": True, "parts": [part], "debrief": {"hypothesis": "demand"}}
    attempt = AttemptFactory(mark=mark, learner__email=f"{uuid.uuid4()}@example.org")

    def log(entry: str, payload: dict, at_s: int, cost_s: int = 0, **outcome: object) -> None:
        ActionFactory(
            attempt=attempt, kind=entry, payload=payload, at_s=at_s, cost_s=cost_s, outcome=outcome
        )

    log("predict", {"value": 400, "confidence": 50, "why": "the queue grows"}, 0)
    log(
        "command",
        {"line": "request-log --last 12m --summary"},
        45,
        45,
        kind="reading",
        number=1,
        instrument="offered_load",
        text="tokens wanted       126,833               of 111,120: 1.14",
        signals={"offered_load_12m": 1.1414, "prompt_p95_tokens": 5567.0},
    )
    cited = {"reading": 1, "signal": "offered_load_12m", "role": "rules_out", "rival": "metastable"}
    diagnosis = {"scope": "fault", "slos": ["ttft", "gap"], "layer": "memory", "confidence": 80}
    diagnosis |= {"components": ["kv_pool"], "mechanism": "demand_exceeds_pool"}
    log("diagnose", {**diagnosis, "parameter": 1.1414, "citations": [cited]}, 45)
    restarted = "Restarted with --kv-cache-dtype fp8"
    line = {"line": "restart --kv-cache-dtype fp8"}
    log("command", line, 125, 80, kind="change", number=2, text=restarted)
    log("command", {"line": "wait 10m"}, 725, 600, kind="wait", number=3, text="10:00 passed.")
    log(
        "command",
        {"line": "verify"},
        1025,
        300,
        kind="verification",
        number=4,
        text="p95 TTFT            0.40 s    target 0.6 s    held",
        signals={"ttft_p95_s": 0.4, "gap_p95_s": 0.069},
    )
    text = "The pool holds 111,120 tokens and the traffic wants 126,833, so a queue must grow."
    log("explain", {"text": text}, 1025)
    return ReviewFactory(attempt=attempt, created_at=timezone.now() - timedelta(days=2, hours=4))


class CohortFactory(DjangoModelFactory):
    """A cohort that began ten days ago and runs for eighty more."""

    class Meta:
        model = Cohort

    name = factory.Sequence(lambda n: f"Night shift {n}")
    starts_on = factory.LazyFunction(lambda: timezone.localdate() - timedelta(days=10))
    ends_on = factory.LazyFunction(lambda: timezone.localdate() + timedelta(days=80))


class MembershipFactory(DjangoModelFactory):
    """A learner's place in a running cohort."""

    class Meta:
        model = Membership

    cohort = factory.SubFactory(CohortFactory)
    person = factory.SubFactory(UserFactory)
    email = factory.LazyAttribute(lambda seat: seat.person.email)


class AssignmentFactory(DjangoModelFactory):
    """The first lab, without dates."""

    class Meta:
        model = Assignment

    cohort = factory.SubFactory(CohortFactory)
    kind = Assignment.Kind.LAB
    slug = "preemption-storm"
