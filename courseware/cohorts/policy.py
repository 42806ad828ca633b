"""What holds for one person in one assignment, where each value comes from, and whether they may start now. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

FULL_CREDIT_PERCENT = 100


@dataclass(frozen=True, slots=True)
class Terms:
    """What one source says; None where it says nothing."""

    opens_at: datetime | None = None
    due_at: datetime | None = None
    late_until: datetime | None = None
    late_credit_percent: int | None = None
    most_attempts: int | None = None
    wait_min: int | None = None
    extra_time_percent: int | None = None


FIELDS = tuple(each.name for each in fields(Terms))


@dataclass(frozen=True, slots=True)
class Source:
    """Somebody's word on the terms, such as an override for a label."""

    name: str
    terms: Terms
    is_personal: bool = False
    """A due date that was set for this very person is not stretched by extra time."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds. Each field was taken from the first source that says something of it."""

    terms: Terms
    """The due date and the end of late work with extra time already in them."""
    origins: Mapping[str, str]
    """By field, which source it came from; a field of which nobody says anything is not there."""
    stretched_by: timedelta = timedelta(0)
    """How much later extra time has moved the due date."""

    @property
    def closes_at(self) -> datetime | None:
        """The moment from which nothing is started: when late work ends, or else when it is due."""
        ends = [at for at in (self.terms.due_at, self.terms.late_until) if at is not None]
        return max(ends, default=None)


def effective(sources: Sequence[Source], *, begins_at: datetime) -> Policy:
    """Return what holds, field by field, of sources in falling precedence.

    Extra time stretches the time from the opening (``begins_at`` if none is said) to the due date, and moves the
    end of late work by as much.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    is_personal_due = False
    for source in sources:
        for name in FIELDS:
            value = getattr(source.terms, name)
            if value is None or name in values:
                continue
            values[name], origins[name] = value, source.name
            if name == "due_at":
                is_personal_due = source.is_personal
    terms = Terms(**values)
    stretch = timedelta(0)
    if terms.due_at and terms.extra_time_percent and not is_personal_due:
        given = terms.due_at - (terms.opens_at or begins_at)
        stretch = max(timedelta(0), given) * terms.extra_time_percent / FULL_CREDIT_PERCENT
        terms = replace(
            terms,
            due_at=terms.due_at + stretch,
            late_until=terms.late_until + stretch if terms.late_until else None,
        )
    return Policy(terms, origins, stretch)


def credit_percent(policy: Policy, finished_at: datetime) -> int:
    """Return what an attempt that ended at a moment is worth: 100 until due, late credit until late work ends, then 0.

    Where late work is taken and nobody says what it is worth, it is worth everything.
    """
    due, until = policy.terms.due_at, policy.terms.late_until
    if due is None:
        return 0 if until is not None and finished_at > until else FULL_CREDIT_PERCENT
    if finished_at <= due:
        return FULL_CREDIT_PERCENT
    if until is None or finished_at > until:
        return 0
    worth = policy.terms.late_credit_percent
    return FULL_CREDIT_PERCENT if worth is None else worth


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a person may start now; if not, why, in a sentence with its date where there is one."""

    may_start: bool
    why_not: str = ""
    left: int | None = None
    """Attempts that are left; None if they are not limited."""


def standing(policy: Policy, begun: Sequence[datetime], *, now: datetime, what: str) -> Standing:
    """Return whether somebody who began attempts at these moments may begin another one.

    ``begun`` leaves out what was given back. Moments are told in the time zone of ``now``. ``what`` is "lab".
    """
    terms = policy.terms
    since = [at for at in begun if terms.opens_at is None or at >= terms.opens_at]
    left = None if terms.most_attempts is None else max(0, terms.most_attempts - len(since))
    if terms.opens_at is not None and now < terms.opens_at:
        opens = told(terms.opens_at, now)
        return Standing(False, f"This {what} is not open yet: it opens on {opens}.", left)
    if policy.closes_at is not None and now > policy.closes_at:
        closed = told(policy.closes_at, now)
        return Standing(False, f"This {what} is closed: it took attempts until {closed}.", left)
    if left == 0:
        n, last = terms.most_attempts, told(max(since, default=now), now)
        used = "Your one attempt is" if n == 1 else f"All {n} of your attempts are"
        return Standing(False, f"{used} used up; the last began on {last}.", left)
    if terms.wait_min and since:
        again = max(since) + timedelta(minutes=terms.wait_min)
        if now < again:
            wait = in_words(terms.wait_min)
            return Standing(
                False,
                f"Between two attempts lie {wait}: you can start again on {told(again, now)}.",
                left,
            )
    return Standing(True, left=left)


def told(moment: datetime, now: datetime) -> str:
    """Return a moment in the time zone of ``now``: "3 March 2027, 09:00 UTC"."""
    here = moment.astimezone(now.tzinfo)
    return f"{here.day} {here:%B %Y, %H:%M} {here:%Z}".rstrip()


def stretch_in_words(stretch: timedelta) -> str:
    """Return how much later something is, to the hour, or to the minute below one: "3 days 20 hours"."""
    if stretch < timedelta(hours=1):
        return in_words(round(stretch / timedelta(minutes=1)))
    days, hours = divmod(round(stretch / timedelta(hours=1)), 24)
    parts = ((days, "day"), (hours, "hour"))
    return " ".join(f"{n} {unit}{'' if n == 1 else 's'}" for n, unit in parts if n)


def in_words(minutes: int) -> str:
    """Return a wait: "90 minutes", "24 hours", "2 days"."""
    for size, unit in ((24 * 60, "day"), (60, "hour")):
        if minutes % size == 0 and minutes > size:
            return f"{minutes // size} {unit}s"
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
