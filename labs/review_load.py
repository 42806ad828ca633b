"""Who reads how much, and how fast; and what came back unread."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils import timezone

from courseware.models import User
from labs.models import Review, ReviewReturn

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

MOST_RETURNS = 50


@dataclass(frozen=True)
class Load:
    """One reader's work. ``read`` is what they released; the week begins on Monday."""

    reader: User
    read_today: int
    read_this_week: int
    median_min: float | None
    """Minutes from claim to release, of what they released this week; None if nothing was."""
    held: int
    skipped_this_week: int


def loads(now: datetime) -> list[Load]:
    """Return the load of every grader, and of each instructor who has read or held something this week."""
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = midnight - timedelta(days=midnight.weekday())
    minutes, today, week = defaultdict(list), Counter[int](), Counter[int]()
    released = Review.objects.filter(released_at__gte=monday, released_at__lte=now)
    for reader, claimed_at, at in released.exclude(claimed_by=None).values_list(
        "claimed_by", "claimed_at", "released_at"
    ):
        week[reader] += 1
        today[reader] += at is not None and at >= midnight
        if claimed_at is not None and at is not None:
            minutes[reader].append((at - claimed_at).total_seconds() / 60)
    held = Counter(
        Review.objects.to_read()
        .filter(lease_until__gte=now)
        .exclude(claimed_by=None)
        .values_list("claimed_by", flat=True)
    )
    skips = ReviewReturn.objects.filter(kind=ReviewReturn.Kind.SKIPPED, at__gte=monday)
    skipped = Counter(skips.exclude(by=None).values_list("by", flat=True))
    at_work = {*week, *held, *skipped}
    readers = User.objects.filter(Q(role=User.Role.GRADER, is_active=True) | Q(pk__in=at_work))
    found = [
        Load(
            reader=reader,
            read_today=today[reader.pk],
            read_this_week=week[reader.pk],
            median_min=median(minutes[reader.pk]) if minutes[reader.pk] else None,
            held=held[reader.pk],
            skipped_this_week=skipped[reader.pk],
        )
        for reader in readers
    ]
    return sorted(found, key=lambda load: (-load.read_this_week, str(load.reader), load.reader.pk))


def returned_to(viewer: User) -> QuerySet[ReviewReturn]:
    """Return what came back for a reason, the latest first; not of the viewer's own attempts."""
    rows = ReviewReturn.objects.select_related("review__attempt", "by", "holder")
    return rows.exclude(review__attempt__learner=viewer.pk)[:MOST_RETURNS]
