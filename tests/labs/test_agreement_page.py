"""The page that shows instructors who agrees with whom."""

from dataclasses import replace

import pytest
from django.urls import reverse
from django.utils import timezone

from courseware.models import User
from labs import rubric_edits
from labs.agreement_rows import agreements
from labs.models import TrainingAnswer, TrainingCase, TrainingRun
from labs.rubric_editions import current
from labs.rubrics import Rubric
from tests.factories import AttemptFactory, ReviewFactory, UserFactory, by_key

pytestmark = pytest.mark.django_db

SLUG = "preemption-storm"
PAGE = "labs:review-agreement"


@pytest.fixture
def readers():
    return [UserFactory(role=User.Role.GRADER, name=name) for name in ("Ada", "Bo", "Chi")]


def read_by(readers, *points):
    attempt = AttemptFactory()
    for reading, (reader, given) in enumerate(zip(readers, points, strict=False), start=1):
        ReviewFactory(
            attempt=attempt,
            reading=reading,
            points=by_key(given),
            claimed_by=reader,
            released_at=timezone.now(),
        )


def class_of(readers, attempts):
    """Ada gives a point more than Bo on the second item every other time."""
    for n in range(attempts):
        read_by(readers[:2], [n % 3, 1 + n % 2, 0, 2, n % 2], [n % 3, 1, 0, 2, n % 2])


def test_items_and_readers_have_their_agreement(readers):
    class_of(readers, 12)
    found = agreements()
    [lab] = found.labs
    assert lab.items[0].found.kappa == 1
    assert lab.items[1].found.kappa < 0.6
    ada, bo = found.readers
    assert (ada.with_others.attempts, ada.with_others.kappa) == (12, bo.with_others.kappa)
    assert ada.with_others.milder == -bo.with_others.milder == pytest.approx(0.1)


def test_two_readers_who_met_two_editions_of_the_rubric_are_compared_under_one(readers, instructor):
    """Ada gave 2 of 2 throughout; then the items were worth twice as much, and Bo gives 4 of 4."""
    standing = current(SLUG)
    items = [replace(each, points=2 * each.points) for each in standing.rubric.items]
    rubric_edits.apply(SLUG, Rubric(tuple(items)), based_on=0, author=instructor, reason="Finer.")
    for n in range(12):
        attempt, points = AttemptFactory(), [n % 3, 1, 0, 2, n % 2]
        for reading, (reader, factor) in enumerate(zip(readers, (1, 2), strict=False), start=1):
            ReviewFactory(
                attempt=attempt,
                reading=reading,
                edition=reading - 1,
                points=by_key([factor * each for each in points]),
                claimed_by=reader,
                released_at=timezone.now(),
            )
    found = agreements()
    assert found.whole.kappa == 1
    assert {each.with_others.milder for each in found.readers} == {0}


def test_one_reading_alone_tells_nothing(readers):
    read_by(readers[:1], [2] * 5)
    found = agreements()
    assert (found.readers, found.labs, found.whole.attempts) == ((), (), 0)


def test_a_third_decision_and_a_first_try_at_training_are_what_was_settled(readers, instructor):
    read_by(readers, [2, 2, 2, 2, 1], [0] * 5, [1, 1, 1, 1, 1])
    attempt = AttemptFactory()
    case = TrainingCase.objects.create(attempt=attempt, points=by_key([2] * 4 + [1]), note="Why.")
    for number in (1, 2):
        run = TrainingRun.objects.create(
            grader=readers[0], lab_slug=SLUG, number=number, finished_at=timezone.now()
        )
        TrainingAnswer.objects.create(run=run, case=case, points=by_key([1] * 5))
    ada = agreements().readers[0]
    assert (ada.with_others.attempts, ada.with_settled.attempts) == (1, 2)
    assert ada.with_settled.milder == pytest.approx((4 - 4) / 10)


def test_it_takes_as_many_queries_for_forty_as_for_two(readers, django_assert_max_num_queries):
    class_of(readers, 20)
    with django_assert_max_num_queries(4):
        agreements()


def test_instructors_see_it_graders_do_not(instructor_client, grader_client, readers):
    class_of(readers, 12)
    page = instructor_client.get(reverse(PAGE)).content.decode()
    assert "Two people read 12 attempts." in page
    assert 'class="apart"' in page
    assert grader_client.get(reverse(PAGE)).status_code == 403
    assert reverse(PAGE) not in grader_client.get(reverse("labs:review-queue")).content.decode()


def test_below_ten_it_says_how_many_there_are(instructor_client, readers):
    class_of(readers, 3)
    page = instructor_client.get(reverse(PAGE)).content.decode()
    assert "3 attempts have been read by two people." in page
    assert "from 10 attempts on; 3 so far" in page
