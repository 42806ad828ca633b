"""What people did in the lessons, and what was computed for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.db import models

from lessons.simulations import Progress
from lessons.spacing import Item

if TYPE_CHECKING:
    from datetime import datetime

    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser


class OwnedQuerySet(models.QuerySet[Any]):
    """Rows that belong to a learner."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Keep one's own rows; a visitor owns none."""
        return self.filter(learner=user.pk)


class StationRead(models.Model):
    """A learner has read a station."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="stations_read"
    )
    lesson = models.SlugField(max_length=80)
    station = models.SlugField(max_length=80)
    read_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "station"], name="station_read_is_one_a_learner"
            ),
        )

    def __str__(self) -> str:
        return f"{self.learner_id} read {self.lesson}/{self.station}"


class CheckTry(models.Model):
    """One answer to a check-yourself question. Rows are only ever added."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="check_tries"
    )
    lesson = models.SlugField(max_length=80)
    check_key = models.SlugField(max_length=80)
    number = models.PositiveSmallIntegerField()
    """Which try it was, from 1."""
    answer = models.JSONField()
    """A list of texts: keys of the chosen options, one number or text as it was typed, pairs
    ``left:right`` of keys, or all keys in the learner's order."""
    right = models.BooleanField()
    hints = models.PositiveSmallIntegerField(default=0)
    """Hints that were open when it was made."""
    wording = models.CharField(max_length=12, blank=True)
    """Of the question that was answered; empty from before it was noted."""
    tried_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "check_key", "number"],
                name="check_try_is_one_a_number",
            ),
        )

    def __str__(self) -> str:
        return f"try {self.number} of {self.learner_id} at {self.lesson}/{self.check_key}"


class CheckHint(models.Model):
    """A hint that a learner has asked for, the first one first. Rows are only ever added."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="check_hints"
    )
    lesson = models.SlugField(max_length=80)
    check_key = models.SlugField(max_length=80)
    number = models.PositiveSmallIntegerField()
    """Which hint of the check, from 1."""
    asked_at = models.DateTimeField()
    opens_at = models.DateTimeField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "check_key", "number"],
                name="check_hint_is_one_a_number",
            ),
        )

    def __str__(self) -> str:
        return f"hint {self.number} of {self.learner_id} at {self.lesson}/{self.check_key}"

    def is_open(self, now: datetime, wrong_tries: int) -> bool:
        """Tell whether it may be read: its wait is over, or a wrong try has been made for it."""
        return self.opens_at <= now or wrong_tries >= self.number


class CheckWhy(models.Model):
    """Why the answer of a resolved check is right, in the learner's own words. Said once."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="check_whys"
    )
    lesson = models.SlugField(max_length=80)
    check_key = models.SlugField(max_length=80)
    why = models.CharField(max_length=300)
    said_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "check_key"], name="check_why_is_one_a_learner"
            ),
        )

    def __str__(self) -> str:
        return f"why of {self.learner_id} at {self.lesson}/{self.check_key}"


class ProblemReport(models.Model):
    """What a learner finds wrong with a question, until an instructor has dealt with it."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="problem_reports"
    )
    lesson = models.SlugField(max_length=80)
    check_key = models.SlugField(max_length=80)
    problem = models.CharField(max_length=300)
    reported_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)
    """Null is open."""
    done_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="problem_reports_done",
    )

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "check_key"],
                condition=models.Q(done_at=None),
                name="open_problem_report_is_one_a_learner",
            ),
        )

    def __str__(self) -> str:
        return f"problem of {self.learner_id} with {self.lesson}/{self.check_key}"


class ComputedAnswerQuerySet(models.QuerySet["ComputedAnswer"]):
    def move(self, source: str, target: str, **fields: Any) -> bool:
        """Move the one selected row from ``source`` to ``target``; False if it has left ``source``."""
        return self.filter(status=source).update(status=target, **fields) == 1


class ComputedAnswer(models.Model):
    """An answer of labs.simulator or of arithmetic, kept under a hash of its question and code.

    The row is the truth; a broker's message only says that there is something to do.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    key = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=100)
    """Such as prediction:cap-28, figure:two-regimes or run:late-first-tokens:queue."""
    line = models.CharField(max_length=400, blank=True)
    """Of a run: what was typed into the console."""
    code_version = models.CharField(max_length=16)
    status = models.CharField(max_length=8, choices=Status, default=Status.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    done_s = models.PositiveIntegerField(default=0)
    total_s = models.PositiveIntegerField(default=0)
    result = models.JSONField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ComputedAnswerQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.name} ({self.code_version}), {self.status}"

    @property
    def is_done(self) -> bool:
        return self.status == self.Status.DONE

    @property
    def is_failed(self) -> bool:
        return self.status == self.Status.FAILED

    @property
    def progress(self) -> Progress:
        return Progress(self.done_s, self.total_s)


class StepRun(models.Model):
    """A line that a learner ran at a step of a walkthrough. Everybody's answer to it is the same row."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="step_runs"
    )
    lesson = models.SlugField(max_length=80)
    step = models.SlugField(max_length=80)
    line = models.CharField(max_length=400)
    expected = models.CharField(max_length=300, blank=True)
    """What the learner wrote down before it was computed."""
    answer = models.ForeignKey(ComputedAnswer, on_delete=models.PROTECT, related_name="runs")
    asked_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "step", "answer"], name="step_run_is_one_a_line"
            ),
        )

    def __str__(self) -> str:
        return f"run of {self.learner_id} at {self.lesson}/{self.step}"


class PredictionCommit(models.Model):
    """A guess, stored before anything is revealed. What was seen is added once, later."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="prediction_commits"
    )
    lesson = models.SlugField(max_length=80)
    prediction = models.SlugField(max_length=80)
    guess = models.JSONField()
    """A number, the key of an option, all keys in an order, or a value at each place of a sketch."""
    confidence = models.PositiveSmallIntegerField()
    """Per cent."""
    why = models.CharField(max_length=300, blank=True)
    answer = models.ForeignKey(ComputedAnswer, on_delete=models.PROTECT, related_name="commits")
    committed_at = models.DateTimeField(auto_now_add=True)
    seen = models.CharField(max_length=300, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "prediction"],
                name="prediction_commit_is_one_a_learner",
            ),
        )

    def __str__(self) -> str:
        return f"{self.learner_id} says {self.guess} for {self.lesson}/{self.prediction}"


class KeywordOpening(models.Model):
    """A learner has unfolded a keyword at a station: the first time, and only where scripts run."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="keywords_opened"
    )
    lesson = models.SlugField(max_length=80)
    station = models.SlugField(max_length=80)
    term = models.CharField(max_length=80)
    """Its name in the glossary."""
    opened_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "station", "term"],
                name="keyword_opening_is_one_a_station",
            ),
        )

    def __str__(self) -> str:
        return f"{self.learner_id} opened {self.term} at {self.lesson}/{self.station}"


class StationNote(models.Model):
    """What a learner keeps at a station: a note in plain text, a bookmark, or both."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="station_notes"
    )
    lesson = models.SlugField(max_length=80)
    station = models.SlugField(max_length=80)
    text = models.TextField(blank=True)
    written_at = models.DateTimeField(null=True, blank=True)
    bookmarked_at = models.DateTimeField(null=True, blank=True)
    """Null is no bookmark."""

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "lesson", "station"], name="station_note_is_one_a_learner"
            ),
        )

    def __str__(self) -> str:
        return f"note of {self.learner_id} at {self.lesson}/{self.station}"

    @property
    def changed_at(self) -> datetime:
        """When the note was written or the bookmark set, whichever is later."""
        return max(at for at in (self.written_at, self.bookmarked_at) if at is not None)


class RepeatTry(models.Model):
    """One answer to something that came back: a check asked anew, or a prediction that was missed.

    Rows are only ever added, one an item a day: the schedule follows from them (lessons.spacing).
    """

    class Kind(models.TextChoices):
        CHECK = "check", "Check"
        PREDICTION = "prediction", "Prediction"

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="repeat_tries"
    )
    kind = models.CharField(max_length=10, choices=Kind)
    lesson = models.SlugField(max_length=80)
    key = models.SlugField(max_length=80)
    day = models.DateField()
    """The site's day on which it came back."""
    answer = models.JSONField()
    """As in CheckTry; of a prediction "why" or "same"."""
    right = models.BooleanField()
    tried_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "kind", "lesson", "key", "day"], name="repeat_try_is_one_a_day"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.lesson}/{self.key} of {self.learner_id} on {self.day}"

    @property
    def item(self) -> Item:
        return Item(
            "check" if self.kind == self.Kind.CHECK else "prediction", self.lesson, self.key
        )


class ReviewMail(models.Model):
    """Whether a learner wants a mail on days on which something comes back. No row is no."""

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="review_mails"
    )
    wanted = models.BooleanField(default=False)
    page = models.URLField(max_length=300, blank=True)
    """Where the mail leads: a worker does not know under which name the site is reached."""
    looked_on = models.DateField(null=True, blank=True)
    """The last day on which a worker looked whether something is due, and had sent the mail if so."""
    claimed_at = models.DateTimeField(null=True, blank=True)
    """Since when a worker is at it; null is nobody."""

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["learner"], name="review_mail_is_one_a_learner"),
        )

    def __str__(self) -> str:
        return f"mail for {self.learner_id}: {'on' if self.wanted else 'off'}"


class DrillAttemptQuerySet(models.QuerySet["DrillAttempt"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Keep one's own rows; a visitor owns none."""
        return self.filter(learner=user.pk)

    def move(self, source: str, target: str, **fields: Any) -> bool:
        """Move the one selected row from ``source`` to ``target``; False if it has left ``source``."""
        return self.filter(stage=source).update(stage=target, **fields) == 1


class DrillAttempt(models.Model):
    """One learner's way through one drill: a decision is stored before what it shows."""

    class Stage(models.TextChoices):
        MEASURE = "measure", "Measure first"
        STRIKE = "strike", "Strike out"
        MECHANISM = "mechanism", "Mechanism"
        FIX = "fix", "Fix"
        DONE = "done", "Done"

    learner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drill_attempts"
    )
    drill = models.CharField(max_length=8)
    """Number of its symptom."""
    version = models.PositiveSmallIntegerField()
    seed = models.PositiveIntegerField()
    stage = models.CharField(max_length=10, choices=Stage, default=Stage.MEASURE)
    taken = models.JSONField(default=list)
    """Measurements, the committed one first."""
    confidence = models.PositiveSmallIntegerField(null=True)
    """Per cent: how sure that no other measurement would be better."""
    why = models.CharField(max_length=300, blank=True)
    struck = models.JSONField(default=list)
    mechanism = models.CharField(max_length=60, blank=True)
    fix = models.CharField(max_length=60, blank=True)
    hints = models.JSONField(default=list)
    """Those asked for, in order: the stage, and when it opens (ISO 8601)."""
    parts = models.JSONField(default=list)
    total = models.FloatField(null=True)
    begun_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    objects = DrillAttemptQuerySet.as_manager()

    class Meta:
        ordering = ("begun_at",)
        constraints = (
            models.UniqueConstraint(
                fields=["learner", "drill"],
                condition=~models.Q(stage="done"),
                name="one_open_drill_attempt",
            ),
        )

    def __str__(self) -> str:
        return f"drill {self.drill}, {self.stage}, by {self.learner_id}"
