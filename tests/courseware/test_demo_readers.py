"""The graders of a demo class: what they read went through the queue, and nobody else's work is touched."""

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from courseware.demo_readers import read_class
from labs.models import ReadingRules, RegradeRequest, Review, ReviewOutcome, TrainingRun
from tests.factories import AttemptFactory, ReviewFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def of_class():
    """Twenty explanations of a class, of every quality."""
    for n in range(20):
        attempt = AttemptFactory(
            learner__email=f"learner1-{n}@demo.invalid", total=5 * n, finished_at=timezone.now()
        )
        ReviewFactory(attempt=attempt)


def test_they_read_twice_train_and_answer(of_class):
    released = read_class(1, 3)
    assert released == Review.objects.exclude(released_at=None).count()
    assert ReviewOutcome.objects.count() == 16
    assert set(ReviewOutcome.objects.values_list("basis", flat=True)) >= {"one", "mean"}
    assert Review.objects.to_read().count() == 4
    assert TrainingRun.objects.filter(grader__email="grader@demo.invalid").exists()
    assert RegradeRequest.objects.exists()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_class_that_wrote_nothing_leaves_the_site_as_it_is(seed):
    ReviewFactory()
    assert read_class(seed, 3) == 0
    assert Review.objects.get().claimed_by is None
    assert not ReadingRules.objects.exists()


def test_more_graders_than_there_are_names_are_refused():
    with pytest.raises(CommandError, match="from 0 to 6, not 7"):
        call_command("demo_data", "--graders", "7")
