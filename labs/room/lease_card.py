"""The lease of a live attempt as its person sees it: the place in the queue, the start, the clocks, the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone

from labs import lease_order, lease_quotas, leases
from labs.lease_words import span
from labs.models import Lease

if TYPE_CHECKING:
    from datetime import datetime

    from labs.lease_order import Place
    from labs.models import Attempt

SOON_S, LATER_S = 2, 10
"""How often a page looks: while it waits for an engine; while one runs."""
_FEW = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


@dataclass(frozen=True)
class Clock:
    """One of the clocks that end a running lease."""

    name: str
    at: datetime
    left_s: float

    @property
    def left(self) -> str:
        return span(self.left_s)


@dataclass(frozen=True)
class LeaseCard:
    """What the fragment shows."""

    lease: Lease | None
    heading: str
    words: tuple[str, ...] = ()
    progress: float | None = None
    clocks: tuple[Clock, ...] = ()
    extension: str = ""
    """What one more extension gives; empty if there is none."""
    extensions_left: int = 0
    can_cancel: bool = False
    can_ask: bool = False
    look_every_s: int = 0
    """0: nothing moves by itself any more."""

    @property
    def status(self) -> str:
        return self.lease.status if self.lease else "none"

    @property
    def cancel_verb(self) -> str:
        return "Leave the queue" if self.status == Lease.Status.QUEUED else "Stop the engine"


def card_of(attempt: Attempt) -> LeaseCard:
    """Return the card of a live attempt's last lease."""
    lease = leases.of_attempt(attempt)
    may_ask = attempt.is_open and not leases.at_page(attempt.pk)
    if lease is None:
        refused = lease_quotas.why_not(attempt) if may_ask else ""
        words = (refused,) if refused else ()
        return LeaseCard(None, "No engine is asked for", words, can_ask=may_ask)
    if lease.is_ended:
        heading = lease.get_end_reason_display()
        return LeaseCard(lease, heading, (lease.end_text,), can_ask=may_ask)
    if lease.cancel_requested:
        words = ("It has not heard of it yet; that takes a few seconds.",)
        return LeaseCard(lease, "Stopping the engine", words, look_every_s=SOON_S)
    if lease.status == Lease.Status.QUEUED:
        return _queued(lease)
    return _starting(lease) if lease.status == Lease.Status.STARTING else _running(lease)


def _queued(lease: Lease) -> LeaseCard:
    place = lease_order.place_of(lease)
    words = _wait(place) if place else ()
    if lease.tries:
        words = (
            "The worker stopped while it started your engine. You are next in its place.",
            *words,
        )
    return LeaseCard(
        lease,
        "You wait for an engine",
        words,
        can_cancel=True,
        look_every_s=SOON_S,
    )


def _wait(place: Place) -> tuple[str, ...]:
    ahead = place.position - 1
    where = f"{_people(ahead)} before you" if ahead else "You are next"
    held = place.before - ahead
    if held:
        where += f"; {_few(held).lower()} of {_few(place.boxes).lower()} {_boxes(place.boxes)} held"
    if not place.boxes:
        return (f"{where}. No box is up now: your place is kept until one is.",)
    if place.at_most_s == 0:
        return (f"{where}. A box is free, and takes the next lease within seconds.",)
    return (f"{where}. {_estimate(place)}",)


def _estimate(place: Place) -> str:
    at_most = f"in {span(place.at_most_s or 0)} at most"
    if place.may_be_passed:
        at_most += ", unless somebody asks who has had less engine time than you"
    if place.likely_s is None:
        return f"A box is free {at_most}. How long leases last is not known yet."
    return f"A box is free in about {span(place.likely_s)}, as the last leases went; {at_most}."


def _starting(lease: Lease) -> LeaseCard:
    left_s = _left_s(lease.deadline_at)
    return LeaseCard(
        lease,
        "Your engine starts",
        (
            f"{lease.doing}. It has {span(left_s)} more to be ready; else it is stopped, and you may ask again.",
        ),
        progress=lease.progress,
        can_cancel=True,
        look_every_s=SOON_S,
    )


def _running(lease: Lease) -> LeaseCard:
    idle_at = leases.idle_at(lease)
    clocks = [Clock("stops", lease.deadline_at or timezone.now(), _left_s(lease.deadline_at))]
    if idle_at is not None and (lease.deadline_at is None or idle_at < lease.deadline_at):
        clocks.append(Clock("stops unused", idle_at, _left_s(idle_at)))
    left = max(0, settings.LIVE_EXTENSIONS - lease.extensions)
    return LeaseCard(
        lease,
        "A real engine runs for you",
        ("The incident clock is the clock on the wall: it runs on while you think.",),
        clocks=tuple(clocks),
        extension=span(settings.LIVE_EXTENSION_S) if left else "",
        extensions_left=left,
        can_cancel=True,
        look_every_s=LATER_S,
    )


def _left_s(at: datetime | None) -> float:
    return max(0.0, (at - timezone.now()).total_seconds()) if at else 0.0


def _people(count: int) -> str:
    return "One person is" if count == 1 else f"{_few(count)} people are"


def _boxes(count: int) -> str:
    return "box is" if count == 1 else "boxes are"


def _few(count: int) -> str:
    return _FEW[count] if count < len(_FEW) else str(count)
