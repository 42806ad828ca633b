"""Who is next: fair by person, and an honest estimate of the wait.

Whoever has held engines for the least time lately comes first, then who asked first. A lease that waits may be passed
by somebody who has had less: its ``Place`` says so.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone

from labs.models import BoxPulse, Lease

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

LOOKED_BACK = 20
"""So many ended leases say how long one likely lasts."""
BOX_SEEN_S = 45.0
"""A box whose supervisor was not heard of for so long is not counted: that is three of its rounds."""


@dataclass(frozen=True)
class Place:
    """Where a queued lease stands."""

    position: int
    """1: the next."""
    before: int
    """How many leases come first: those that wait before it, and those that have a box."""
    boxes: int
    """Boxes that are up and fit its lab; with none, nothing moves."""
    likely_s: float | None
    """Until a box takes it, if leases last as the last ones did; None while none has ended yet, or no box is up."""
    at_most_s: float | None
    """Until a box takes it, if all before use their time up to the last second."""
    may_be_passed: bool
    """Whether somebody who has had less engine time, and asks later, would come first."""


def held_s(
    people: Iterable[int], since: datetime, now: datetime, *, besides: Lease | None = None
) -> dict[int, float]:
    """Return for how many seconds between two moments each person held an engine, starts included."""
    found: dict[int, float] = defaultdict(float)
    rows = Lease.objects.filter(person__in=list(people)).claimed_after(since)
    if besides is not None:
        rows = rows.exclude(pk=besides.pk)
    for person, claimed, ended in rows.values_list("person_id", "claimed_at", "ended_at"):
        found[person] += max(
            0.0, (min(ended or now, now) - max(claimed or now, since)).total_seconds()
        )
    return found


def in_order(now: datetime) -> list[Lease]:
    """Return the queued leases, the next one first. Leases of attempts that are closed are passed over."""
    rows = Lease.objects.queued().filter(cancel_requested=False, attempt__status="open")
    queued = list(rows.select_related("attempt"))
    had = held_s(
        {each.person_id for each in queued},
        now - timedelta(seconds=settings.LIVE_FAIR_WINDOW_S),
        now,
    )
    return sorted(
        queued, key=lambda each: (had.get(each.person_id, 0.0), each.requested_at, each.pk)
    )


def place_of(lease: Lease) -> Place | None:
    """Return where a lease stands in the queue; None if it does not wait."""
    now = timezone.now()
    wanted = profiles_of(lease)
    order = [each for each in in_order(now) if each.pk == lease.pk or _meet(profiles_of(each), wanted)]  # fmt: skip
    position = next((place for place, each in enumerate(order) if each.pk == lease.pk), None)
    if position is None:
        return None
    profiles = dict(BoxPulse.objects.values_list("name", "profile"))
    held = [each for each in Lease.objects.held() if _meet(wanted, _profile(each.box, profiles))]
    boxes = boxes_up(now, wanted) | {each.box for each in held}
    lasted = _lasted()
    idle = [0.0] * (len(boxes) - len(held))
    likely = at_most = None
    if boxes:
        at_most = free_in(
            [*(longest_left_s(each, now) for each in held), *idle], [longest_s()] * position
        )
    if boxes and lasted:
        likely = free_in(
            [*(_likely_left_s(each, lasted, now) for each in held), *idle],
            [median(lasted)] * position,
        )
    window = now - timedelta(seconds=settings.LIVE_FAIR_WINDOW_S)
    return Place(
        position=position + 1,
        before=position + len(held),
        boxes=len(boxes),
        likely_s=likely if at_most is None or likely is None else min(likely, at_most),
        at_most_s=at_most,
        may_be_passed=held_s([lease.person_id], window, now).get(lease.person_id, 0.0) > 0,
    )


def profiles_of(lease: Lease) -> frozenset[str]:
    """Return the profiles of the boxes that a lease's lab is written for; empty if any will do."""
    try:
        live = lease.attempt.spec.live
    except LookupError:
        return frozenset()  # Whoever takes it says that its lab is gone.
    return frozenset() if live is None else frozenset(live.boxes)


def fits(lease: Lease, profile: str) -> bool:
    """Return whether a box of this profile can take a lease."""
    return _meet(profiles_of(lease), {profile})


def _meet(some: Collection[str], others: Collection[str]) -> bool:
    return not some or not others or not set(some).isdisjoint(others)


def _profile(box: str, profiles: Mapping[str, str]) -> Collection[str]:
    """Return the profile of a box; nothing for one that did not say."""
    return {profiles[box]} if profiles.get(box) else ()


def boxes_up(now: datetime, profiles: Collection[str] = ()) -> set[str]:
    """Return the names of the boxes whose supervisor was heard of lately, and that can start engines.

    With ``profiles``, only boxes of these.
    """
    lately = now - timedelta(seconds=BOX_SEEN_S)
    rows = BoxPulse.objects.filter(seen_at__gte=lately, problem="")
    if profiles:
        rows = rows.filter(profile__in=profiles)
    return set(rows.values_list("name", flat=True))


def rings(now: datetime) -> int:
    """Return how often to ring so that a box that fits hears it: once, if all that are up are of one kind."""
    lately = now - timedelta(seconds=BOX_SEEN_S)
    up = list(BoxPulse.objects.filter(seen_at__gte=lately).values_list("profile", flat=True))
    return len(up) if len(set(up)) > 1 else 1


def free_in(left_s: Sequence[float], before_s: Sequence[float]) -> float:
    """Return in how many seconds a box is free, given what is left on each and the leases that come before."""
    free = list(left_s)
    heapq.heapify(free)
    for each in before_s:
        heapq.heapreplace(free, free[0] + each)
    return free[0]


def longest_s() -> float:
    """Return how long a lease lasts at most, from its claim on."""
    return float(settings.LIVE_START_S + running_s(settings.LIVE_EXTENSIONS))


def running_s(extensions: int) -> float:
    """Return how long a lease runs at most, from ready on, with so many extensions."""
    return float(settings.LIVE_DEADLINE_S + extensions * settings.LIVE_EXTENSION_S)


def longest_left_s(lease: Lease, now: datetime) -> float:
    """Return how long a held lease can still last, if it is extended as often as it may be."""
    until = lease.deadline_at or now
    if lease.status == Lease.Status.STARTING:
        more = running_s(settings.LIVE_EXTENSIONS)
    else:
        more = max(0, settings.LIVE_EXTENSIONS - lease.extensions) * settings.LIVE_EXTENSION_S
    return max(0.0, (until - now).total_seconds()) + more


def _likely_left_s(lease: Lease, lasted: Sequence[float], now: datetime) -> float:
    """Return how long a held lease likely lasts still: as those that lasted longer than it has till now."""
    so_far = (now - (lease.claimed_at or now)).total_seconds()
    longer = [each for each in lasted if each > so_far]
    return median(longer) - so_far if longer else longest_left_s(lease, now)


def _lasted() -> list[float]:
    """Return how long the last leases that had a box lasted, in seconds."""
    rows = Lease.objects.filter(status=Lease.Status.ENDED).exclude(claimed_at=None)
    recent = rows.order_by("-ended_at").values_list("claimed_at", "ended_at")[:LOOKED_BACK]
    return [(ended - claimed).total_seconds() for claimed, ended in recent if claimed and ended]
