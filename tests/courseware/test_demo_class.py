"""A class that takes the course: everything in it was done, and the same numbers give the same class."""

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from courseware import demo_class
from courseware.models import User
from labs.models import Action, Attempt, KeptReruns, MarkChange, Outbox
from lessons.models import CheckTry, PredictionCommit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _one_lab(monkeypatch):
    from labs.catalogue import labs

    monkeypatch.setattr(demo_class, "labs", lambda: {"calls-that-fail": labs()["calls-that-fail"]})
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)


@pytest.mark.slow
def test_attempts_are_played_and_marked_as_anybodys(capsys):
    call_command("demo_data", "--learners", "1", "--attempts", "1", "--seed", "3")
    attempt = Attempt.objects.get()
    assert attempt.status == Attempt.Status.MARKED
    assert KeptReruns.objects.filter(attempt=attempt).exists()
    assert MarkChange.objects.get().after_total == attempt.total
    assert not attempt.actions.exclude(status=Action.Status.DONE).exclude(status="refused").exists()
    assert attempt.started_at < attempt.finished_at < timezone.now()
    assert not Outbox.objects.exists()
    assert CheckTry.objects.exists()
    assert PredictionCommit.objects.exists()
    assert "1 learners, 1 attempts" in capsys.readouterr().out


def test_the_same_numbers_give_the_same_people_and_answers():
    def made():
        demo_class.make_class(learners=2, attempts_each=0, seed=5, tell=lambda _: None)
        rows = CheckTry.objects.order_by("learner__email", "lesson", "check_key")
        return list(rows.values_list("learner__name", "check_key", "answer", "right"))

    first = made()
    User.objects.all().delete()
    assert made() == first


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--learners", "0"], "from 1 to 500, not 0"), (["--attempts", "-1"], "0 or more, not -1")],
)
def test_a_class_that_cannot_be_is_refused_in_one_line(arguments, says):
    with pytest.raises(CommandError, match=says):
        call_command("demo_data", *arguments)
