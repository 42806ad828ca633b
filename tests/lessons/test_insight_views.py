"""What a class understood: who may look, what is shown from ten learners on, and nobody's name."""

from dataclasses import replace

import pytest
from django.urls import reverse

from courseware.models import User
from lessons import content, progress
from lessons.models import CheckTry
from tests.factories import UserFactory
from tests.lessons.conftest import LESSON

pytestmark = pytest.mark.django_db
CHECK = "cold-rollout"
INDEX = "/lessons/insight/"
ITEM = f"/lessons/insight/failure-modes/{CHECK}/"


def answered(count, *, right=0, role=User.Role.LEARNER):
    """``count`` people answer the check, the first ``right`` of them rightly."""
    question = LESSON.with_check(CHECK).checks[CHECK]
    wrong = [option.key for option in question.options if not option.right]
    for place in range(count):
        who = UserFactory(name=f"Somebody {place}", role=role)
        chosen = question.right_answer if place < right else [wrong[0]]
        progress.answer_check(who, LESSON, question, chosen, number=1)
    return question


def test_only_instructors_look(client, learner_client, grader_client, instructor_client):
    for address in (INDEX, ITEM):
        assert client.get(address).status_code == 302
        assert learner_client.get(address).status_code == 403
        assert grader_client.get(address).status_code == 403
        assert instructor_client.get(address).status_code == 200
    unknown = reverse("lessons:insight-item", args=["failure-modes", "no-such"])
    assert instructor_client.get(unknown).status_code == 404


def test_nine_learners_are_too_few_and_nothing_of_theirs_is_shown(instructor_client):
    answered(9, right=3)
    page = instructor_client.get(ITEM).content.decode()
    assert "Fewer than 10 learners have answered." in page
    assert "33 %" not in page


def test_ten_learners_give_a_share_with_its_interval_and_no_names(instructor_client):
    question = answered(10, right=6)
    page = instructor_client.get(ITEM).content.decode()
    assert "60 %" in page
    assert "of 10; could be 35 % to 81 %" in page
    assert "Somebody" not in page
    assert page.count('<tr><th scope="row">') == len(question.options)
    assert "60 %" in instructor_client.get(INDEX).content.decode()


def test_those_who_teach_do_not_count(instructor_client):
    answered(9)
    answered(5, right=5, role=User.Role.INSTRUCTOR)
    assert "Fewer than 10 learners" in instructor_client.get(ITEM).content.decode()


def test_what_wants_a_look_can_be_shown_alone(instructor_client):
    answered(10, right=1)
    assert (
        "Fewer than one in five are right at once." in instructor_client.get(INDEX).content.decode()
    )
    page = instructor_client.get(INDEX, {"flagged": ""}).content.decode()
    assert page.count('<tr><th scope="row">') == 1


def test_each_wording_of_a_check_has_numbers_of_its_own(instructor_client):
    answered(11, right=11)
    CheckTry.objects.update(wording="anotherword1")
    answered(10, right=2)
    page = instructor_client.get(ITEM).content.decode()
    assert "20 %" in page
    assert "of 10; could be" in page
    earlier = page[page.index("Earlier wordings") :]
    assert '<td class="n">11</td><td class="n">100 %</td>' in earlier


def test_a_wording_is_what_is_asked_offered_and_right_and_nothing_else():
    question = LESSON.with_check(CHECK).checks[CHECK]
    option = question.options[0]
    for same in ({"explanation": "Other."}, {"hints": ("Other.",)}, {"tries": 4}):
        assert replace(question, **same).wording == question.wording
    kinder = replace(option, feedback="Kinder.")
    assert replace(question, options=(kinder, *question.options[1:])).wording == question.wording
    for other in (
        {"text": "Other?"},
        {"options": question.options[1:]},
        {"options": (replace(option, right=not option.right), *question.options[1:])},
    ):
        assert replace(question, **other).wording != question.wording


@pytest.mark.parametrize(
    "answer", [["no-such-option"], [], ["12.5"], ["left:right", "odd"], ["<b>"]]
)
def test_answers_to_a_wording_that_is_gone_take_no_page_away(learner, learner_client, answer):
    for lesson in content.lessons().values():
        for station in lesson.stations:
            CheckTry.objects.filter(lesson=lesson.slug).delete()
            for key in station.checks:
                CheckTry.objects.create(
                    learner=learner, lesson=lesson.slug, check_key=key, number=1,
                    answer=answer, right=False, wording="anotherword1",
                )  # fmt: skip
            if station.checks:
                address = reverse("lessons:station", args=[lesson.slug, station.slug])
                assert learner_client.get(address).status_code == 200, address
