"""The mail of the day: only to who wants it, only when something is due, once."""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from lessons import progress, reminders, tasks
from lessons.models import CheckTry, ReviewMail
from tests.lessons.conftest import LESSON

pytestmark = pytest.mark.django_db
SWITCH = "/review/mail/"
CHECK = LESSON.stations[0].checks["cold-rollout"]
WRONG = next(option.key for option in CHECK.options if not option.right)


def miss(learner):
    progress.answer_check(learner, LESSON, CHECK, [WRONG])
    then = timezone.now() - timedelta(days=2)
    CheckTry.objects.filter(learner=learner).update(tried_at=then)


@pytest.fixture
def wants(learner) -> ReviewMail:
    """A learner with something due, who wants the mail."""
    miss(learner)
    reminders.want(learner, wanted=True, page="https://course.example.org/review/")
    return ReviewMail.objects.get()


@pytest.fixture
def at_hour(monkeypatch):
    def set_clock(hour: int):
        now = datetime.now(UTC).replace(hour=hour, minute=0)
        monkeypatch.setattr("lessons.reminders.timezone.now", lambda: now)

    return set_clock


def test_it_is_off_until_a_person_turns_it_on(learner, learner_client):
    assert not reminders.wanted_by(learner)
    learner_client.post(SWITCH, {"wanted": "yes"})
    assert reminders.wanted_by(learner)
    assert ReviewMail.objects.get().page == "http://testserver/review/"
    assert "Stop the mail" in learner_client.get("/review/").content.decode()
    learner_client.post(SWITCH, {"wanted": "no"})
    assert not reminders.wanted_by(learner)
    assert ReviewMail.objects.count() == 1


def test_a_mail_says_how_much_is_due_and_where(wants, learner, mailoutbox):
    assert reminders.remind(wants.pk)
    [mail] = mailoutbox
    assert mail.to == [learner.email]
    assert mail.subject == "Debugging LLM Serving: 1 to review"
    assert "One thing that you missed comes back today" in mail.body
    assert "https://course.example.org/review/" in mail.body


def test_a_message_that_comes_twice_sends_one_mail(wants, mailoutbox):
    assert reminders.remind(wants.pk)
    assert not reminders.remind(wants.pk)
    assert len(mailoutbox) == 1


def test_the_next_day_sends_again_while_something_is_due(wants, mailoutbox):
    reminders.remind(wants.pk)
    ReviewMail.objects.update(looked_on=timezone.localdate() - timedelta(days=1))
    assert reminders.remind(wants.pk)
    assert len(mailoutbox) == 2


def test_nothing_due_sends_nothing_and_is_not_looked_for_again_today(learner, mailoutbox, at_hour):
    reminders.want(learner, wanted=True, page="https://course.example.org/review/")
    row = ReviewMail.objects.get()
    at_hour(12)
    assert reminders.waiting() == [row.pk]
    assert not reminders.remind(row.pk)
    assert (mailoutbox, reminders.waiting()) == ([], [])


def test_who_turned_it_off_in_between_gets_none(wants, learner, mailoutbox):
    reminders.want(learner, wanted=False, page="")
    assert not reminders.remind(wants.pk)
    assert mailoutbox == []


def test_a_mail_that_could_not_be_sent_is_tried_again(wants, monkeypatch, at_hour):
    def refuse(*arguments):
        raise ConnectionRefusedError

    at_hour(12)
    monkeypatch.setattr(reminders, "send_mail", refuse)
    with pytest.raises(ConnectionRefusedError):
        reminders.remind(wants.pk)
    assert reminders.waiting() == [wants.pk]


def test_nobody_is_woken_at_night(wants, at_hour):
    at_hour(5)
    assert reminders.waiting() == []
    at_hour(6)
    assert reminders.waiting() == [wants.pk]


def test_whoever_may_not_sign_in_gets_no_mail(wants, learner, at_hour):
    at_hour(12)
    learner.is_active = False
    learner.save()
    assert reminders.waiting() == []


def test_beat_rings_once_for_each_person_with_one_integer(wants, at_hour, monkeypatch):
    sent: list[int] = []
    at_hour(12)
    monkeypatch.setattr(tasks.remind, "delay", sent.append)
    tasks.remind_all()
    assert sent == [wants.pk]
    assert settings.CELERY_BEAT_SCHEDULE["remind-of-reviews"]["task"] == tasks.remind_all.name


def test_a_visitor_has_no_mail_to_turn_on(client):
    assert client.post(SWITCH, {"wanted": "yes"}).status_code == 302
    assert ReviewMail.objects.count() == 0
