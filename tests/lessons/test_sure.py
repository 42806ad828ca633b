"""Where a class was sure and wrong: pure, from rows, and as a page for instructors."""

import pytest
from django.urls import reverse

from courseware.models import User
from labs.catalogue import labs
from lessons import class_sure, computing, content, progress
from lessons.models import DrillAttempt
from lessons.sure import LEAST, Said, off_by, sure_and_wrong
from tests.factories import ActionFactory, AttemptFactory, UserFactory
from tests.lessons.conftest import LESSON

PAGE = "/lessons/insight/sure/"
LAB = labs()["preemption-storm"]


def said(learner, *, percent=90, right=False, answer="A", key="x", **fields):
    return Said(learner, "diagnosis", key, percent, right, answer, **fields)


# ---------------------------------------------------------------------------------------------- pure


def test_below_ten_sure_people_an_item_is_counted_and_not_shown():
    rows = [said(n) for n in range(LEAST - 1)] + [said(n, percent=70) for n in range(20, 40)]
    found = sure_and_wrong(rows)
    assert (found.items, found.hidden) == ((), 1)
    assert sure_and_wrong([*rows, said(50, percent=80)]).items[0].sure == LEAST


def test_an_item_says_how_many_were_sure_how_many_of_them_wrong_and_what_they_said():
    rows = [said(n, answer="A" if n < 6 else "B", right=n >= 8) for n in range(12)]
    rows += [said(n, percent=50, answer="C") for n in range(12, 15)]
    [item] = sure_and_wrong(rows).items
    assert (item.n, item.sure, item.wrong) == (15, 12, 8)
    assert item.answers == (("A", 6), ("B", 2))
    low, high = item.interval
    assert low < item.share < high


def test_what_is_surely_wrong_comes_before_what_may_be_chance():
    many = [said(n, key="many", right=n >= 50) for n in range(80)]
    few = [said(n, key="few", right=n >= 7) for n in range(10)]
    keys = [item.key for item in sure_and_wrong([*few, *many]).items]
    assert keys == ["many", "few"]


def test_versions_of_an_item_are_apart():
    rows = [said(n, version=str(n % 2)) for n in range(18)]
    assert sure_and_wrong(rows).hidden == 2


@pytest.mark.parametrize(
    ("guess", "came", "words"),
    [
        (10, 40, "less than half of what came"),
        (30, 40, "too low"),
        (60, 40, "too high"),
        (90, 40, "more than twice what came"),
        (-1, 0, "too low"),
    ],
)
def test_a_number_is_off_in_words_that_many_share(guess, came, words):
    assert off_by(guess, came) == words


# ---------------------------------------------------------------------------------------------- rows

PREDICTION = "clamped-tokens"


def predicted(count, *, guess, confidence=90, role=User.Role.LEARNER):
    for _ in range(count):
        who = UserFactory(name="Somebody", role=role)
        commit = progress.commit_prediction(
            who, LESSON, PREDICTION, guess=guess, confidence=confidence
        )
        computing.compute(commit.answer.pk)


def only(kind):
    learners = User.objects.filter(role=User.Role.LEARNER)
    found = class_sure.found_in(content.lessons(), learners)
    return [item for item in found.items if item.kind == kind]


@pytest.mark.django_db
def test_predictions_of_learners_count_once_they_are_computed():
    predicted(8, guess=500)
    predicted(3, guess=24)
    predicted(4, guess=500, confidence=50)
    predicted(4, guess=500, role=User.Role.INSTRUCTOR)
    [item] = only("prediction")
    assert (item.key, item.n, item.sure, item.wrong) == (f"{LESSON.slug}/{PREDICTION}", 15, 11, 8)
    assert item.answers == (("more than twice what came", 8),)


def marked(learner, *, credit, hit=False, number=1, world="demand"):
    parts = [
        {"name": "mechanism", "earned": 0.0, "weight": 25, "details": {"credit": credit}},
    ]
    prediction = {"value": 10.0, "truth": 40.0, "confidence": 90, "hit": hit}
    debrief = {"hypothesis": world, "prediction": prediction}
    mark = {"passed": False, "parts": parts, "debrief": debrief}
    attempt = AttemptFactory(learner=learner, mark=mark, total=50, number=number)
    mechanism = next(iter(LAB.mechanisms))
    said_ = {"scope": "fault", "confidence": 80, "mechanism": mechanism}
    ActionFactory(attempt=attempt, kind="diagnose", payload=said_)


@pytest.mark.django_db
def test_diagnoses_and_predictions_in_labs_count_with_the_first_mark():
    for place, learner in enumerate(UserFactory.create_batch(10)):
        marked(learner, credit=0.5 if place < 7 else 1.0)
        marked(learner, credit=1.0, number=2, hit=True)
    [diagnosis] = only("diagnosis")
    assert (diagnosis.key, diagnosis.sure, diagnosis.wrong) == (LAB.slug, 10, 7)
    assert diagnosis.answers[0][0] == next(iter(LAB.mechanisms.values())).title
    [prediction] = only("lab prediction")
    assert prediction.answers == (("less than half of what came", 10),)


@pytest.mark.django_db
@pytest.mark.parametrize(("earned", "hints", "wrong"), [(3.0, [], 10), (6.0, [], 0), (5.0, 1, 0)])
def test_a_first_measurement_in_a_drill_is_right_if_none_is_worth_more(earned, hints, wrong):
    part = {"name": "first measurement", "earned": earned, "weight": 6.0, "reason": ""}
    for learner in UserFactory.create_batch(10):
        DrillAttempt.objects.create(
            learner=learner, drill="1.1", version=1, seed=1, stage="done", taken=["anything"],
            confidence=90, parts=[part], total=earned,
            hints=[["measure", "2027-03-01T09:00:00+00:00"]] if hints else [],
        )  # fmt: skip
    [item] = only("drill")
    assert (item.sure, item.wrong) == (10, wrong)


# ---------------------------------------------------------------------------------------------- page


@pytest.mark.django_db
def test_only_instructors_look(client, learner_client, grader_client, instructor_client):
    assert client.get(PAGE).status_code == 302
    assert learner_client.get(PAGE).status_code == 403
    assert grader_client.get(PAGE).status_code == 403
    page = instructor_client.get(PAGE).content.decode()
    assert "No item has 10 people who were sure of it yet." in page


@pytest.mark.django_db
def test_the_page_names_links_and_filters_and_shows_no_name(instructor_client):
    predicted(10, guess=500)
    for learner in UserFactory.create_batch(10):
        marked(learner, credit=0.0)
    page = instructor_client.get(PAGE).content.decode()
    here = LESSON.with_prediction(PREDICTION)
    station = reverse("lessons:station", args=[LESSON.slug, here.slug])
    assert f'href="{station}#prediction-{PREDICTION}"' in page
    assert f'href="{reverse("labs:insight-lab", args=[LAB.slug])}"' in page
    assert page.count('<tr><th scope="row">') == 3
    assert "Somebody" not in page
    page = instructor_client.get(PAGE, {"kind": "diagnosis"}).content.decode()
    assert page.count('<tr><th scope="row">') == 1
    page = instructor_client.get(PAGE, {"kind": "no such"}).content.decode()
    assert page.count('<tr><th scope="row">') == 3
