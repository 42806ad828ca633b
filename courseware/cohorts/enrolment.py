"""How people come into a cohort and leave it: by its code, by a roster, by an instructor's hand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Lower
from django.utils import timezone

from courseware.models import Cohort, Membership, User
from courseware.models.cohorts import CODE_CHARACTERS, CODE_LENGTH, new_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from courseware.cohorts.roster import Row


class Refused(Exception):  # noqa: N818
    """Somebody may not join. Its text is the sentence that says why."""


def cohort_with(code: str) -> Cohort:
    """Return the cohort of a join code, however it was typed. Raises Refused if there is none."""
    typed = "".join(each for each in code.upper() if each.isalnum())
    found = Cohort.objects.filter(join_code=typed, archived_at=None).first()
    if found is not None:
        return found
    stray = sorted({each for each in typed if each not in CODE_CHARACTERS})
    if stray:
        raise Refused(
            f"No code holds {' or '.join(stray)}: I, L, O, 0 and 1 are left out since they look alike. "
            "Compare it with what you were given."
        )
    if len(typed) != CODE_LENGTH:
        raise Refused(f"A code has {CODE_LENGTH} characters; this has {len(typed)}.")
    raise Refused(
        f"No cohort has the code {typed}. It may have been replaced: ask your instructor for the new one."
    )


def why_no_joining(cohort: Cohort) -> str:
    """Return why nobody joins a cohort by its code now; empty if people may."""
    if cohort.archived_at is not None:
        return f"{cohort} is archived and takes nobody in."
    if timezone.localdate() > cohort.ends_on:
        return f"{cohort} ended on {cohort.ends_on.day} {cohort.ends_on:%B %Y} and takes nobody in."
    if not cohort.is_open:
        return f"{cohort} takes nobody in by code at present. Your instructor can add you."
    return ""


def join(cohort: Cohort, person: User) -> Membership:
    """Give a person a place, or return the one they have. Raises Refused with the reason."""
    rows = Membership.objects.filter(cohort=cohort)
    email = person.email.lower()
    seat = rows.filter(person=person).first() or rows.filter(email=email).first()
    if seat is None:
        if why := why_no_joining(cohort):
            raise Refused(why)
        try:
            with transaction.atomic():
                return Membership.objects.create(cohort=cohort, person=person, email=email)
        except IntegrityError:
            # Two clicks at once: the other one's place is the place.
            return rows.get(person=person)
    if seat.removed_at is not None:
        raise Refused(
            f"You were taken out of {cohort}. Only its instructor can bring you back; what you did is kept."
        )
    return take_up(seat, person)


def take_up(seat: Membership, person: User) -> Membership:
    """Bind a place that waits for an address to the person who came. Raises Refused if it is another's."""
    if seat.person_id is None:
        Membership.objects.filter(pk=seat.pk, person=None).update(person=person)
        seat.refresh_from_db()
    if seat.person_id != person.pk:
        raise Refused(
            f"The place of {seat.email} in {seat.cohort} is another account's. Ask your instructor."
        )
    return seat


def replace_code(cohort: Cohort, shown: str) -> bool:
    """Give a cohort another join code; False if it is not the one that was shown any more."""
    return Cohort.objects.filter(pk=cohort.pk, join_code=shown).update(join_code=new_code()) == 1


def archive(cohort: Cohort) -> bool:
    """Put a cohort away: nobody joins, nothing is asked, everything is kept. False if it is already."""
    rows = Cohort.objects.filter(pk=cohort.pk, archived_at=None)
    return rows.update(archived_at=timezone.now()) == 1


def bring_back(cohort: Cohort) -> bool:
    """Take a cohort out of the archive; False if it is not in it."""
    rows = Cohort.objects.filter(pk=cohort.pk, archived_at__isnull=False)
    return rows.update(archived_at=None) == 1


def remove(seat: Membership) -> bool:
    """Take a person out of a cohort; the row stays. False if they are out already."""
    rows = Membership.objects.filter(pk=seat.pk, removed_at=None)
    return rows.update(removed_at=timezone.now()) == 1


def readmit(seat: Membership) -> bool:
    """Bring a person back into a cohort as they were; False if they are in it."""
    rows = Membership.objects.filter(pk=seat.pk, removed_at__isnull=False)
    return rows.update(removed_at=None) == 1


# ------------------------------------------------------------------------------------------ rosters


class Outcome(StrEnum):
    JOINS = "joins"
    RETURNS = "comes back"
    CHANGES = "changes"
    STAYS = "stays as it is"
    REFUSED = "is left out"


@dataclass(frozen=True)
class Planned:
    """What a row of a roster does, and in a sentence why or how."""

    row: Row
    outcome: Outcome
    told: str


def planned(cohort: Cohort, rows: Sequence[Row]) -> list[Planned]:
    """Return what each row would do now. Nothing is written."""
    people, seats = _known(cohort, rows)
    return [_plan(row, people.get(row.email), seats) for row in rows]


def enrol(cohort: Cohort, rows: Sequence[Row]) -> list[Planned]:
    """Do what each row says, all or nothing, and return what was done. A second time changes nothing."""
    with transaction.atomic():
        # Two rosters at once go one after the other.
        Cohort.objects.select_for_update().get(pk=cohort.pk)
        people, seats = _known(cohort, rows)
        done = []
        for row in rows:
            person = people.get(row.email)
            plan = _plan(row, person, seats)
            done.append(plan)
            if plan.outcome in {Outcome.REFUSED, Outcome.STAYS}:
                continue
            seat = _seat(seats, row, person)
            if seat is None:
                fields = {"person": person, "email": row.email, **_said(row)}
                Membership.objects.create(cohort=cohort, **fields)
            else:
                bound = {"person": person} if seat.person_id is None else {}
                Membership.objects.filter(pk=seat.pk).update(removed_at=None, **bound, **_said(row))
    return done


def _known(
    cohort: Cohort, rows: Sequence[Row]
) -> tuple[Mapping[str, User], Mapping[str | int, Membership]]:
    """Return accounts by address, and places by address and by the account's key."""
    wanted = {row.email for row in rows if not row.fault}
    people = {
        each.email.lower(): each
        for each in User.objects.annotate(address=Lower("email")).filter(address__in=wanted)
    }
    seats: dict[str | int, Membership] = {}
    for seat in cohort.memberships.select_related("person"):
        seats[seat.email] = seat
        if seat.person_id is not None:
            seats[seat.person_id] = seat
    return people, seats


def _seat(
    seats: Mapping[str | int, Membership], row: Row, person: User | None
) -> Membership | None:
    return (seats.get(person.pk) if person else None) or seats.get(row.email)


def _said(row: Row) -> dict[str, Any]:
    """Return what a row says as fields; what it leaves empty is not among them."""
    said: dict[str, Any] = {"name": row.name, "role": row.role, "labels": list(row.labels)}
    found = {name: value for name, value in said.items() if value}
    if row.extra_time_percent is not None:
        found["extra_time_percent"] = row.extra_time_percent
    return found


def _plan(row: Row, person: User | None, seats: Mapping[str | int, Membership]) -> Planned:
    if row.fault:
        return Planned(row, Outcome.REFUSED, row.fault)
    seat = _seat(seats, row, person)
    if seat is not None and person is not None and seat.person_id not in {None, person.pk}:
        return Planned(
            row, Outcome.REFUSED, f"The place of {row.email} belongs to another account: {seat}."
        )
    role = row.role or (seat.role if seat else Membership.Role.LEARNER)
    if person is None and role != Membership.Role.LEARNER and (seat is None or not seat.person_id):
        return Planned(
            row,
            Outcome.REFUSED,
            f"Nobody has signed up as {row.email} yet, and only somebody with an account can become {role}.",
        )
    if seat is None:
        told = f"as {role}" if person else f"as {role}, as soon as somebody signs up as {row.email}"
        return Planned(row, Outcome.JOINS, told)
    changes = [
        f"{_WORDS[name]} {_shown(getattr(seat, name))} → {_shown(value)}"
        for name, value in _said(row).items()
        if getattr(seat, name) != value
    ]
    if seat.removed_at is not None:
        return Planned(row, Outcome.RETURNS, "; ".join(["was taken out", *changes]))
    if changes:
        return Planned(row, Outcome.CHANGES, "; ".join(changes))
    return Planned(row, Outcome.STAYS, "")


_WORDS = {"name": "name", "role": "role", "labels": "labels", "extra_time_percent": "extra time"}


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return f"{value} %" if isinstance(value, int) else (value or "none")
