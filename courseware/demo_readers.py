"""The graders of a demo class: some mild, some strict, who read what the class wrote, twice where the draw says so.

Nothing of it is put into a table as a result: they take from the queue, save, release and answer through the functions that
the pages call. Only days are moved.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from courseware.models import User
from labs import reading_rules, regrades, review_queue, reviews, training
from labs.models import Attempt, RegradeRequest, Review, ReviewOutcome
from labs.review_points import Draft, items_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from labs.moderation import Given

NAMES = ("Ada Quist", "Bela Haddad", "Carla Weber", "Deniz Raman", "Emil Novak", "Fay Okafor")
TWICE_PERCENT = 60
LEFT_TO_READ = 5
"""Every so many-th explanation stays in the queue, so that there is one."""
CASES = 4
ASKING = 0.4
"""Share of those who may ask for another look that do."""
COMMENTS = (
    "You name what runs out. Say over which minutes you measured, and the next point is yours.",
    "The numbers are there and they are yours. What would have told you that you are wrong?",
    "You say what you did; say why it had to help.",
    "Clear, and short. The price of the change is missing.",
)
REASONS = (
    "My second sentence gives the number and the minutes over which I took it.",
    "I do say what would have proved me wrong: the reading after the change.",
    "The price stands in the last sentence, in requests a second.",
)


@dataclass(frozen=True)
class Reader:
    """A grader, and how many points an item they lie above others, on average."""

    user: User
    milder: float


def read_class(seed: int, graders: int) -> int:
    """Let graders read what the demo class of a seed wrote; return how many readings they released.

    It sets rules of reading if nobody has, makes a training set of the lab that was read most, and lets some learners
    ask for another look.
    """
    of_class = Attempt.objects.filter(learner__email__startswith=f"learner{seed}-")
    to_read = Review.objects.to_read().filter(attempt__in=of_class).order_by("pk")
    wanted = [
        pk
        for place, pk in enumerate(to_read.values_list("pk", flat=True))
        if (place + 1) % LEFT_TO_READ
    ]
    if not wanted:
        return 0
    draws = random.Random(f"demo readers:{seed}")
    instructor = _person("instructor@demo.invalid", "Ines Okafor", User.Role.INSTRUCTOR)
    if not reading_rules.newest(reading_rules.EVERY_LAB).version:
        said = {"second_percent": TWICE_PERCENT, "most_difference": 2}
        reading_rules.change(reading_rules.EVERY_LAB, said, by=instructor, version=0)
    readers = [
        Reader(
            _person(f"grader{seed}-{number}@demo.invalid", name, User.Role.GRADER),
            draws.gauss(0, 0.35),
        )
        for number, name in zip(range(graders), NAMES, strict=False)
    ]
    attempts = Review.objects.filter(pk__in=wanted).values("attempt")
    released = sum(
        1 for _ in _readings(readers, set(attempts.values_list("attempt", flat=True)), draws)
    )
    outcomes = ReviewOutcome.objects.filter(attempt__in=of_class).select_related("attempt__learner")
    settled = list(outcomes.order_by("pk"))
    for outcome in settled:
        _move_back(outcome, draws)
    _train(settled, readers, instructor, draws)
    _ask(settled, readers, draws)
    return released


def _person(email: str, name: str, role: User.Role) -> User:
    user, made = User.objects.get_or_create(email=email, defaults={"name": name, "role": role})
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


# ------------------------------------------------------------------------------------------- reading


def _readings(readers: Sequence[Reader], attempts: set[int], draws: Random) -> Iterable[Review]:
    """Yield what was read and released of some attempts, until nobody finds any more of them in their queue."""
    idle: set[int] = set()
    while len(idle) < len(readers):
        reader = draws.choice([each for each in readers if each.user.pk not in idle])
        theirs = reviews.waiting(reader.user).filter(
            attempt__in=attempts, pk__in=review_queue.candidates(reader.user, timezone.now())
        )
        review = theirs.first()
        if review is None:
            idle.add(reader.user.pk)
            continue
        _read(review, reader, draws)
        idle.clear()
        yield review


def _read(review: Review, reader: Reader, draws: Random) -> None:
    reviews.claim(review, reader.user)
    draft = Draft(_given(review.attempt, reader, draws), draws.choice(COMMENTS))
    version = reviews.save(review, reader.user, draft, version=review.version)
    reviews.release(review, reader.user, version=version)


def _given(attempt: Attempt, reader: Reader, draws: Random) -> dict[str, float | int | None]:
    """Return what a reader gives: what the text is worth to everybody, and what is theirs."""
    worth = random.Random(f"worth:{attempt.public_id}")
    share = float(attempt.total or 0) / 100
    given: dict[str, float | int | None] = {}
    for item in items_of(attempt):
        low, high = min(item.points, 0), max(item.points, 0)
        true = low + (high - low) * min(1.0, max(0.0, worth.gauss(share, 0.25)))
        given[item.key] = min(high, max(low, round(true + reader.milder + draws.gauss(0, 0.3))))
    return given


def _move_back(outcome: ReviewOutcome, draws: Random) -> None:
    """Let what was read have been read a few days after it was written."""
    attempt = outcome.attempt
    written, now = attempt.finished_at or attempt.started_at, timezone.now()
    at = min(now, written + timedelta(days=draws.uniform(0.2, 4)))
    for each in attempt.reviews.exclude(released_at=None):
        began = at - timedelta(minutes=draws.uniform(4, 15))
        Review.objects.filter(pk=each.pk).update(claimed_at=began, released_at=at)
    ReviewOutcome.objects.filter(pk=outcome.pk).update(released_at=at)
    outcome.released_at = at


# ------------------------------------------------------------------------------- training, other looks


def _train(
    settled: Sequence[ReviewOutcome],
    readers: Sequence[Reader],
    instructor: User,
    draws: Random,
) -> None:
    """Make a training set of the lab that was read most, and let somebody try it who has read none of it."""
    read = Counter(each.attempt.lab_slug for each in settled)
    if not read:
        return
    [(slug, _)] = read.most_common(1)
    of_lab = [each for each in settled if each.attempt.lab_slug == slug][:CASES]
    for each in of_lab:
        note = "The mechanism decides the first item, whatever words are used; a number counts if it is the learner's own."
        training.add(each.attempt, each.points, note, by=instructor)
    newcomer = Reader(
        _person("grader@demo.invalid", "Goran Petrov", User.Role.GRADER), draws.gauss(0, 0.35)
    )
    for reader in (*readers, newcomer):
        run = training.begin(reader.user, slug)
        while run and (case := training.progress(reader.user, slug).following):
            points: Given = _given(case.attempt, reader, draws)
            training.answer(run, case, points)


def _ask(settled: Sequence[ReviewOutcome], readers: Sequence[Reader], draws: Random) -> None:
    """Let some learners ask about the first item that lacks points, and have every other request answered."""
    now = timezone.now()
    asked = 0
    for outcome in settled:
        keys = [item.key for item in items_of(outcome.attempt)]
        key = next((key for key in keys if not regrades.why_not(outcome, key, now)), None)
        if key is None or draws.random() > ASKING:
            continue
        request = regrades.ask(outcome, key, draws.choice(REASONS))
        asked += 1
        may = [
            each for each in readers if regrades.open_to(each.user).filter(pk=request.pk).exists()
        ]
        if may and asked % 2:
            _answer(request, outcome, may[0])


def _answer(request: RegradeRequest, outcome: ReviewOutcome, reader: Reader) -> None:
    before = regrades.points_now(outcome, request.item) or 0
    upheld = reader.milder > 0
    regrades.claim(request, reader.user)
    regrades.answer(
        request,
        reader.user,
        points=before + 1 if upheld else before,
        reason="It does, in other words."
        if upheld
        else "I looked twice: the number is there, the minutes are not.",
        version=outcome.version,
    )
