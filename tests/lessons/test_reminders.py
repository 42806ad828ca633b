"""The mail of the day: only to who wants it, only when something is due, once."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone

from lessons import progress, reminders, repeats, tasks
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
    def refuse(*arguments, **options):
        raise ConnectionRefusedError

    at_hour(12)
    monkeypatch.setattr(EmailMessage, "send", refuse)
    with pytest.raises(ConnectionRefusedError):
        reminders.remind(wants.pk)
    assert reminders.waiting() == [wants.pk]


class Killed(BaseException):
    """As a worker dies: nothing that cleans up runs."""


def test_a_worker_that_dies_before_it_sends_loses_no_mail(wants, mailoutbox, monkeypatch):
    def die(learner):
        raise Killed

    now = timezone.now()
    with monkeypatch.context() as patch:
        patch.setattr(repeats, "scheduled_for", die)
        with pytest.raises(Killed):
            reminders.remind(wants.pk, now=now)
    assert not reminders.remind(wants.pk, now=now + timedelta(minutes=9))
    assert reminders.remind(wants.pk, now=now + timedelta(minutes=11))
    assert len(mailoutbox) == 1


def test_a_mail_that_is_sent_again_since_its_worker_died_bears_the_same_id(wants, mailoutbox):
    now = timezone.now()
    assert reminders.remind(wants.pk, now=now)
    ReviewMail.objects.update(looked_on=None, claimed_at=now - timedelta(hours=1))
    assert reminders.remind(wants.pk, now=now)
    first, second = (mail.extra_headers["Message-ID"] for mail in mailoutbox)
    assert first == second
    assert first.endswith("@course.example.org>")


def test_who_has_no_address_is_looked_after_and_gets_none(wants, learner, mailoutbox, at_hour):
    learner.email = ""
    learner.save()
    assert not reminders.remind(wants.pk)
    at_hour(12)
    assert (mailoutbox, reminders.waiting()) == ([], [])


@pytest.mark.parametrize("day", [date(2026, 3, 29), date(2026, 10, 25)])
def test_a_day_of_23_or_25_hours_has_one_mail(wants, monkeypatch, day):
    berlin = ZoneInfo("Europe/Berlin")
    mails = []
    monkeypatch.setattr(EmailMessage, "send", lambda mail: mails.append(mail) or 1)
    begin = datetime(day.year, day.month, day.day, tzinfo=berlin).astimezone(UTC)
    CheckTry.objects.update(tried_at=begin - timedelta(days=2))
    with timezone.override(berlin):
        for hour in range(25):
            now = begin + timedelta(hours=hour)
            monkeypatch.setattr("lessons.reminders.timezone.now", lambda now=now: now)
            if timezone.localdate(now) == day:
                for mail_id in reminders.waiting():
                    reminders.remind(mail_id)
    assert len(mails) == 1


def test_a_switch_that_says_neither_on_nor_off_changes_nothing(learner, learner_client):
    reminders.want(learner, wanted=True, page="")
    page = learner_client.post(SWITCH, {"wanted": "\x00"}, follow=True).content.decode()
    assert "Nothing was changed" in page
    assert reminders.wanted_by(learner)


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
