"""What comes back, to whom, and what an answer does."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from lessons import computing, progress, repeat_pages, repeats
from lessons.models import CheckTry, PredictionCommit, RepeatTry
from lessons.spacing import Item
from tests.lessons.conftest import LESSON

pytestmark = pytest.mark.django_db
CHECK = LESSON.stations[0].checks["cold-rollout"]
RIGHT = next(option for option in CHECK.options if option.right)
WRONG = next(option for option in CHECK.options if not option.right)
ITEM = Item("check", LESSON.slug, CHECK.key)
GUESS = Item("prediction", LESSON.slug, "clamped-tokens")
PAGE = "/review/"
ANSWER = reverse("you:review-check", args=[LESSON.slug, CHECK.key])
SAY = reverse("you:review-prediction", args=[LESSON.slug, GUESS.key])


def html_of(client, address=PAGE) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def miss_check(learner, *, days_ago=2, chosen=WRONG):
    progress.answer_check(learner, LESSON, CHECK, [chosen.key])
    then = timezone.now() - timedelta(days=days_ago)
    CheckTry.objects.filter(learner=learner).update(tried_at=then)


def miss_prediction(learner, *, value=500.0, confidence=90, days_ago=2):
    commit = progress.commit_prediction(
        learner, LESSON, GUESS.key, guess=value, confidence=confidence, why="because"
    )
    computing.compute(commit.answer.pk)
    then = timezone.now() - timedelta(days=days_ago)
    PredictionCommit.objects.filter(learner=learner).update(committed_at=then)


def later(learner, days: int):
    """Let days pass for what is stored of a learner."""
    shift = timedelta(days=days)
    for row in CheckTry.objects.filter(learner=learner):
        CheckTry.objects.filter(pk=row.pk).update(tried_at=row.tried_at - shift)
    for row in RepeatTry.objects.filter(learner=learner):
        RepeatTry.objects.filter(pk=row.pk).update(day=row.day - shift)


def due(learner) -> list[Item]:
    return [each.item for each in repeats.due_today(learner)]


def test_who_has_missed_nothing_is_told_what_will_stand_here(learner_client):
    html = html_of(learner_client)
    assert "Nothing to review" in html
    assert "0 due" in html


def test_a_check_that_was_wrong_at_first_comes_back_after_two_days(learner):
    miss_check(learner, days_ago=1)
    assert due(learner) == []
    later(learner, 1)
    assert due(learner) == [ITEM]


def test_a_check_that_was_right_at_first_stays_away(learner):
    miss_check(learner, chosen=RIGHT)
    assert repeats.scheduled_for(learner) == ()


@pytest.mark.parametrize(
    ("value", "confidence", "comes"), [(500, 80, True), (500, 70, False), (24, 90, False)]
)
def test_a_prediction_comes_back_if_it_was_sure_and_missed(learner, value, confidence, comes):
    miss_prediction(learner, value=value, confidence=confidence)
    assert due(learner) == ([GUESS] if comes else [])


def test_the_check_is_asked_anew_in_another_order_and_gives_nothing_away(learner, learner_client):
    miss_check(learner)
    html = html_of(learner_client)
    order = sorted((option.key for option in CHECK.options), key=html.index)
    assert order != [option.key for option in CHECK.options]
    assert "checked" not in html
    assert "your first answer" not in html
    assert repeat_pages.inline(CHECK.explanation) not in html
    assert "1 due" in html_of(learner_client, reverse("account"))


def test_a_right_answer_is_explained_and_moves_on(learner, learner_client):
    miss_check(learner)
    response = learner_client.post(ANSWER, {"answer": RIGHT.key})
    assert response["Location"] == f"{PAGE}#check-{LESSON.slug}-{CHECK.key}"
    assert due(learner) == []
    html = html_of(learner_client)
    assert repeat_pages.inline(CHECK.explanation) in html
    assert "Comes back on" in html
    later(learner, 7)
    assert due(learner) == [ITEM]


def test_a_wrong_answer_says_what_is_right_and_starts_again(learner, learner_client):
    miss_check(learner)
    learner_client.post(ANSWER, {"answer": WRONG.key})
    html = html_of(learner_client)
    assert "Right is:" in html
    assert repeat_pages.inline(RIGHT.text) in html
    later(learner, 2)
    assert due(learner) == [ITEM]


def test_three_right_answers_in_a_row_end_it(learner, learner_client):
    miss_check(learner)
    for days in (7, 21, 0):
        learner_client.post(ANSWER, {"answer": RIGHT.key})
        html = html_of(learner_client)
        later(learner, days)
    assert "it stays away" in html
    later(learner, 400)
    assert due(learner) == []


def test_an_answer_counts_once_a_day_and_only_when_it_is_due(learner, learner_client):
    miss_check(learner, days_ago=1)
    learner_client.post(ANSWER, {"answer": RIGHT.key})
    assert RepeatTry.objects.count() == 0
    later(learner, 1)
    for chosen in (WRONG, RIGHT):
        response = learner_client.post(ANSWER, {"answer": chosen.key}, follow=True)
    assert "Nothing changed" in response.content.decode()
    assert RepeatTry.objects.get().right is False


def test_of_two_answers_at_once_one_is_kept(learner, monkeypatch):
    def collide(**fields):
        raise IntegrityError

    miss_check(learner)
    monkeypatch.setattr(RepeatTry.objects, "create", collide, raising=False)
    monkeypatch.setattr("lessons.repeats.RepeatTry.objects.visible_to", lambda _: [])
    with pytest.raises(repeats.NotDueError):
        repeats.answer_check(learner, ITEM, CHECK, [RIGHT.key])


def test_no_answer_is_refused_with_its_reason_on_the_page(learner, learner_client):
    miss_check(learner)
    response = learner_client.post(ANSWER, {})
    assert response.status_code == 422
    assert "Choose an answer first." in response.content.decode()
    assert RepeatTry.objects.count() == 0


@pytest.mark.parametrize(("said", "days"), [("why", 7), ("same", 2)])
def test_a_prediction_comes_back_with_both_numbers_and_is_answered_by_oneself(
    learner, learner_client, said, days
):
    miss_prediction(learner)
    html = html_of(learner_client)
    assert "<output>500</output>" in html
    assert "<output>24</output>" in html
    learner_client.post(SAY, {"answer": said})
    [scheduled] = repeats.scheduled_for(learner)
    assert scheduled.due == timezone.localdate() + timedelta(days=days)
    assert "Answered today" in html_of(learner_client)


def test_what_the_course_asks_no_more_does_not_come_back(learner, learner_client):
    for lesson, key in ((LESSON.slug, "nope"), ("nope", CHECK.key)):
        CheckTry.objects.create(
            learner=learner, lesson=lesson, check_key=key, number=1, answer=["x"], right=False
        )
        address = reverse("you:review-check", args=[lesson, key])
        assert learner_client.post(address, {"answer": "x"}).status_code == 404
    assert repeats.scheduled_for(learner) == ()


def test_another_persons_misses_do_not_come_back_to_me(
    learner, another_learner, another_learner_client
):
    miss_check(learner)
    miss_prediction(learner)
    assert due(another_learner) == []
    another_learner_client.post(ANSWER, {"answer": RIGHT.key})
    assert RepeatTry.objects.count() == 0
    assert "Nothing to review" in html_of(another_learner_client)


def test_the_words_of_an_answer_are_there_for_every_kind_of_check():
    for station in LESSON.stations:
        for question in station.checks.values():
            assert repeat_pages.answer_words(question, question.right_answer)
