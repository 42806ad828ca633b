"""Cohorts: who is in one, what is asked of them by when, who has other terms, and what was announced."""

from __future__ import annotations

import secrets
import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

if TYPE_CHECKING:
    from datetime import date

    from courseware.models.people import User

CODE_CHARACTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""No I, L, O, 0 and 1: a code is read from a wall and typed on a phone."""
CODE_LENGTH = 8
MOST_EXTRA_TIME_PERCENT = 400


def new_code() -> str:
    """Return a join code: 8 of 31 characters, 39 bits."""
    return "".join(secrets.choice(CODE_CHARACTERS) for _ in range(CODE_LENGTH))


class CohortQuerySet(models.QuerySet["Cohort"]):
    def running(self, today: date) -> CohortQuerySet:
        """Return the cohorts whose dates hold ``today``, both ends included."""
        return self.filter(archived_at=None, starts_on__lte=today, ends_on__gte=today)


class Cohort(models.Model):
    """People who take the course together, between two dates."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=80)
    starts_on = models.DateField("first day")
    ends_on = models.DateField("last day")
    join_code = models.CharField(max_length=CODE_LENGTH, unique=True, default=new_code)
    is_open = models.BooleanField("people may join with the code", default=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = CohortQuerySet.as_manager()

    class Meta:
        ordering = ("-starts_on", "name", "pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(ends_on__gte=F("starts_on")), name="a_cohort_ends_after_it_starts"
            ),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("cohorts:cohort", args=[self.public_id])

    def is_running(self, today: date) -> bool:
        return self.archived_at is None and self.starts_on <= today <= self.ends_on


class MembershipQuerySet(models.QuerySet["Membership"]):
    def present(self) -> MembershipQuerySet:
        """Return those who have not been removed."""
        return self.filter(removed_at=None)

    def of(self, person: User) -> MembershipQuerySet:
        """Return the places of a person: their own, and those that wait for their address."""
        return self.present().filter(Q(person=person) | Q(person=None, email=person.email.lower()))

    def running(self, today: date) -> MembershipQuerySet:
        """Return the places in cohorts whose dates hold ``today``."""
        return self.filter(
            cohort__archived_at=None, cohort__starts_on__lte=today, cohort__ends_on__gte=today
        )


class Membership(models.Model):
    """A person's place in a cohort. One that is given to an address waits until that address has an account."""

    class Role(models.TextChoices):
        LEARNER = "learner", "Learner"
        GRADER = "grader", "Grader"
        INSTRUCTOR = "instructor", "Instructor"

    cohort = models.ForeignKey(Cohort, on_delete=models.CASCADE, related_name="memberships")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="memberships",
    )
    email = models.EmailField()
    """In lower case, as it was when the place was given."""
    name = models.CharField(max_length=80, blank=True)
    role = models.CharField(max_length=12, choices=Role, default=Role.LEARNER)
    labels = models.JSONField(default=list, blank=True)
    """Words in lower case, in the order in which they were given."""
    extra_time_percent = models.PositiveSmallIntegerField(
        "extra time, %", default=0, validators=[MaxValueValidator(MOST_EXTRA_TIME_PERCENT)]
    )
    joined_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True, blank=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        ordering = ("email", "pk")
        constraints = (
            models.UniqueConstraint(fields=("cohort", "email"), name="one_place_an_address"),
            models.UniqueConstraint(fields=("cohort", "person"), name="one_place_a_person"),
        )

    def __str__(self) -> str:
        return self.shown_name

    @property
    def shown_name(self) -> str:
        """The name on the roster, else the account's, else the address."""
        return self.name or (self.person.name if self.person else "") or self.email


class _Terms(models.Model):
    """What an assignment asks, or an override asks instead. Empty: nothing is said."""

    opens_at = models.DateTimeField("opens", null=True, blank=True)
    due_at = models.DateTimeField("due", null=True, blank=True)
    late_until = models.DateTimeField("late work until", null=True, blank=True)
    late_credit_percent = models.PositiveSmallIntegerField(
        "late credit, %", null=True, blank=True, validators=[MaxValueValidator(100)]
    )
    most_attempts = models.PositiveSmallIntegerField("attempts at most", null=True, blank=True)
    wait_min = models.PositiveIntegerField("minutes between attempts", null=True, blank=True)

    class Meta:
        abstract = True


class Assignment(_Terms):
    """A lab, a lesson or a drill that a cohort does, and by when."""

    class Kind(models.TextChoices):
        LAB = "lab", "Lab"
        LESSON = "lesson", "Lesson"
        DRILL = "drill", "Drill"

    cohort = models.ForeignKey(Cohort, on_delete=models.CASCADE, related_name="assignments")
    kind = models.CharField(max_length=8, choices=Kind)
    slug = models.CharField(max_length=80)
    """A lab's or a lesson's slug, or a drill's number such as 3.1."""

    class Meta:
        ordering = ("due_at", "opens_at", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("cohort", "kind", "slug"), name="assigned_once_in_a_cohort"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.slug} in {self.cohort_id}"


class Override(_Terms):
    """Other terms for one person or for everyone with a label, in one assignment or in all of the cohort's."""

    cohort = models.ForeignKey(Cohort, on_delete=models.CASCADE, related_name="overrides")
    assignment = models.ForeignKey(
        Assignment, on_delete=models.CASCADE, null=True, blank=True, related_name="overrides"
    )
    membership = models.ForeignKey(
        Membership, on_delete=models.CASCADE, null=True, blank=True, related_name="overrides"
    )
    label = models.CharField(max_length=40, blank=True)
    order = models.PositiveSmallIntegerField(default=1)
    """Of two labels that a person has, the lower number is asked first."""
    extra_time_percent = models.PositiveSmallIntegerField(
        "extra time, %",
        null=True,
        blank=True,
        validators=[MaxValueValidator(MOST_EXTRA_TIME_PERCENT)],
    )

    class Meta:
        ordering = ("order", "pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(membership=None) ^ Q(label=""),
                name="an_override_is_for_a_person_or_a_label",
            ),
        )

    def __str__(self) -> str:
        return f"override {self.pk} in cohort {self.cohort_id}"


class Announcement(models.Model):
    """What an instructor tells a cohort, in Markdown."""

    cohort = models.ForeignKey(Cohort, on_delete=models.CASCADE, related_name="announcements")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    text = models.TextField(max_length=10_000)
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"announcement of {self.created_at:%Y-%m-%d}"
