"""Another look at one item of a released review: asked for by its learner, answered by somebody who did not read it.

A learner has a few requests over all labs. One is used while it waits and when it is declined; one that changes the
points, or is withdrawn in time, comes back. No request lowers points. Each change of state is one guarded UPDATE.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from courseware.models import User
from labs import outcomes, reviews
from labs.models import PointsChange, RegradeRequest, Review, ReviewOutcome
from labs.reading_rules import regrade_tokens, rules_of
from labs.review_points import as_stored, by_item, items_of
from labs.reviews import LEASE
from labs.training import untrained_labs

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

    from labs.models import Attempt
    from labs.rubrics import Item

LEAST_REASON_CHARACTERS = 20
MOST_REASON_CHARACTERS = 2000
Status = RegradeRequest.Status


class Refused(Exception):  # noqa: N818
    """Not asked, or not withdrawn; the text says why, for the learner."""


class Standing(StrEnum):
    """What a request is to one reader."""

    FREE = "free"
    YOURS = "yours"
    TAKEN = "taken"
    OVER = "over"
    """It is answered, or withdrawn."""


class Conflict(Exception):  # noqa: N818
    """Nothing was written: the request, or the points that it is about, are no longer what the page showed."""

    def __init__(self, request: RegradeRequest) -> None:
        super().__init__(str(request))
        self.request = request


# -------------------------------------------------------------------------------------------- asking


def tokens_left(learner: User) -> int:
    """Return how many requests a learner may still make."""
    used = RegradeRequest.objects.filter(
        attempt__learner=learner, status__in=(Status.OPEN, Status.DECLINED)
    )
    return max(0, regrade_tokens() - used.count())


def closes_at(outcome: ReviewOutcome) -> datetime:
    """Return until when the learner may ask about an outcome."""
    days = rules_of(outcome.attempt.lab_slug).regrade_days
    return outcome.released_at + timedelta(days=days)


def item_of(attempt: Attempt, key: str) -> Item | None:
    """Return an item of an attempt's rubric by its key."""
    return next((item for item in items_of(attempt) if item.key == key), None)


def points_now(outcome: ReviewOutcome, key: str) -> float | None:
    """Return the points that an item has; None if the rubric does not hold it any more."""
    return by_item(outcome.attempt, outcome.points).get(key)


def why_not(outcome: ReviewOutcome, key: str, now: datetime) -> str:
    """Return why a learner may not ask about an item, in a sentence; empty if they may."""
    attempt, item = outcome.attempt, item_of(outcome.attempt, key)
    if item is None or points_now(outcome, key) is None:
        return "This item is no longer in the rubric."
    if attempt.regrade_requests.exclude(status=Status.WITHDRAWN).filter(item=key).exists():
        return "You have asked about this item already."
    if (points_now(outcome, key) or 0) >= max(item.points, 0):
        return "This item has all its points."
    closes = closes_at(outcome)
    if now > closes:
        return f"The time to ask ended on {timezone.localtime(closes):%d %B %Y, %H:%M %Z}."
    if not tokens_left(attempt.learner):
        return "You have no request left. One comes back when an answer changes your points."
    return ""


@dataclass(frozen=True)
class Line:
    """One item of a released review on its learner's page: what they asked about it, or whether they may."""

    key: str
    title: str
    points: float
    of: int
    moment: int | None
    """The moment of the log that it points at."""
    asked: RegradeRequest | None
    may_ask: bool
    may_withdraw: bool


def lines_of(outcome: ReviewOutcome, now: datetime) -> list[Line]:
    """Return the items of an outcome in the order of the rubric."""
    attempt = outcome.attempt
    rows = attempt.regrade_requests.exclude(status=Status.WITHDRAWN)
    asked = {each.item: each for each in rows}
    is_open = now <= closes_at(outcome) and tokens_left(attempt.learner) > 0
    return [
        Line(
            key=item.key,
            title=item.title,
            points=item.points,
            of=item.of,
            moment=item.moment,
            asked=asked.get(item.key),
            may_ask=is_open and item.key not in asked and item.points < max(item.of, 0),
            may_withdraw=item.key in asked and _is_free(asked[item.key], now),
        )
        for item in outcomes.items_of(outcome)
    ]


def _is_free(request: RegradeRequest, now: datetime) -> bool:
    held = request.lease_until is not None and request.lease_until >= now
    return request.status == Status.OPEN and not (request.claimed_by_id is not None and held)


def ask(outcome: ReviewOutcome, key: str, reason: str) -> RegradeRequest:
    """Ask for another look at an item. Sent twice, it is asked once. Raises Refused if it may not be asked."""
    attempt = outcome.attempt
    try:
        with transaction.atomic():
            # One at a time for this learner: two requests at once never spend the same token.
            User.objects.select_for_update().get(pk=attempt.learner_id)
            same = attempt.regrade_requests.open().filter(item=key, reason=reason).first()
            if same is not None:
                return same
            refusal = why_not(outcome, key, timezone.now())
            if refusal:
                raise Refused(refusal)
            item = item_of(attempt, key)
            return RegradeRequest.objects.create(
                attempt=attempt, item=key, title=item.title if item else key, reason=reason
            )
    except IntegrityError:
        raise Refused("You have asked about this item already.") from None


def withdraw(request: RegradeRequest) -> None:
    """Take a request back, and its token. Sent twice, it is done once. Raises Refused once somebody looks at it."""
    free = RegradeRequest.objects.filter(pk=request.pk).free(timezone.now())
    if free.update(status=Status.WITHDRAWN, claimed_by=None, lease_until=None):
        return
    request.refresh_from_db()
    if request.status == Status.OPEN:
        raise Refused("Somebody is looking at it now, so it stays. Its answer will stand here.")
    if request.status != Status.WITHDRAWN:
        raise Refused("It is answered already; the answer stands here.")


# ------------------------------------------------------------------------------------------ answering


def open_to(reader: User) -> QuerySet[RegradeRequest]:
    """Return the requests that a reader may answer: about what they may read, are trained for, and have not read."""
    read = Review.objects.filter(claimed_by=reader.pk).exclude(released_at=None)
    return (
        RegradeRequest.objects.select_related("attempt__learner", "claimed_by")
        .filter(attempt__in=reviews.but_for_training(reader).values("attempt"))
        .exclude(attempt__in=read.values("attempt"))
        .exclude(attempt__lab_slug__in=untrained_labs(reader))
    )


def waiting(reader: User) -> QuerySet[RegradeRequest]:
    """Return what waits for an answer, the oldest first."""
    return open_to(reader).filter(status=Status.OPEN)


def answered(reader: User) -> QuerySet[RegradeRequest]:
    """Return what was answered, the latest first."""
    rows = open_to(reader).filter(status__in=(Status.UPHELD, Status.DECLINED))
    return rows.order_by("-answered_at", "-pk")


def standing(request: RegradeRequest, reader: User, now: datetime) -> Standing:
    """Return what a request is to a reader now."""
    if request.status != Status.OPEN:
        return Standing.OVER
    if request.claimed_by_id == reader.pk:
        return Standing.YOURS
    held = request.lease_until is not None and request.lease_until >= now
    return Standing.TAKEN if request.claimed_by_id is not None and held else Standing.FREE


def claim(request: RegradeRequest, reader: User) -> None:
    """Give a request to a reader for half an hour; claiming what one holds renews it. Raises Conflict if another has it."""
    now = timezone.now()
    taken = RegradeRequest.objects.filter(pk=request.pk).free(now)
    if taken.update(claimed_by=reader, lease_until=now + LEASE):
        return
    if _held_by(reader, request).update(lease_until=now + LEASE) != 1:
        raise _conflict(request)


def hand_back(request: RegradeRequest, reader: User) -> None:
    """Put a request back; done once, whatever is sent."""
    _held_by(reader, request).update(claimed_by=None, lease_until=None)


def answer(
    request: RegradeRequest, reader: User, *, points: float, reason: str, version: int
) -> RegradeRequest.Status:
    """Answer a request: with more points it is upheld, with the same it is declined. Sent twice, it is done once.

    ``version`` is that of the outcome which the page showed. Raises Conflict if the request is not the reader's any
    more, or the points have changed since.
    """
    try:
        return _answer(request, reader, points=points, reason=reason, version=version)
    except _Lost:
        # Only now, when what was begun is undone: the page shows what the request is.
        raise _conflict(request) from None


class _Lost(Exception):  # noqa: N818
    """Inside a transaction: it must be rolled back."""


def _answer(
    request: RegradeRequest, reader: User, *, points: float, reason: str, version: int
) -> RegradeRequest.Status:
    now = timezone.now()
    with transaction.atomic():
        outcome = ReviewOutcome.objects.select_related("attempt").get(attempt=request.attempt_id)
        item = item_of(outcome.attempt, request.item)
        before = points_now(outcome, request.item)
        upheld = item is not None and before is not None and points > before
        status = Status.UPHELD if upheld else Status.DECLINED
        done = _held_by(reader, request).update(
            status=status,
            before=before,
            after=points if upheld else before,
            answer=reason,
            answered_at=now,
            lease_until=None,
        )
        if not done:
            return _answered_before(request, reader, reason)
        rows = ReviewOutcome.objects.filter(pk=outcome.pk, version=version)
        given = by_item(outcome.attempt, outcome.points)
        if upheld:
            given[request.item] = points
        if not rows.update(
            points=as_stored(outcome.attempt, given),
            version=F("version") + (1 if upheld else 0),
        ):
            raise _Lost
        if upheld and item is not None:
            PointsChange.objects.create(
                outcome=outcome,
                version=version + 1,
                item=item.key,
                title=item.title,
                before=before,
                after=points,
                of_before=item.points,
                of_after=item.points,
                cause=PointsChange.Cause.REGRADE,
                reason=reason,
                by=reader,
                at=now,
            )
    return status


def _answered_before(request: RegradeRequest, reader: User, reason: str) -> RegradeRequest.Status:
    now = RegradeRequest.objects.get(pk=request.pk)
    is_that = now.claimed_by_id == reader.pk and now.answer == reason and now.answered_at
    if not is_that:
        raise _Lost
    return Status(now.status)


def _held_by(reader: User, request: RegradeRequest) -> QuerySet[RegradeRequest]:
    """Return the request if it is still the reader's: an ended lease counts until another takes it."""
    return RegradeRequest.objects.open().filter(pk=request.pk, claimed_by=reader.pk)


def _conflict(request: RegradeRequest) -> Conflict:
    rows = RegradeRequest.objects.select_related("attempt__learner", "claimed_by")
    return Conflict(rows.get(pk=request.pk))
