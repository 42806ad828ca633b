from datetime import timedelta

import pytest
from django.utils import timezone

from lessons import computing, reveals
from lessons.models import ComputedAnswer
from lessons.simulations import Progress

pytestmark = pytest.mark.django_db
NAME = "prediction:clamped-tokens"
Status = ComputedAnswer.Status


@pytest.fixture
def watched(monkeypatch):
    """A computation that tells when it runs, and can be told to fail or to be interrupted."""

    class Watched:
        runs = 0
        fails = False
        between = staticmethod(lambda: None)

        def steps(self):
            self.runs += 1
            yield Progress(60, 120)
            self.between()
            if self.fails:
                raise RuntimeError("the pool is gone")
            yield Progress(120, 120)
            return reveals.Reveal(answer=1.0, shown="1", method="m")

    one = Watched()
    monkeypatch.setattr(computing, "all_computations", lambda: {NAME: one.steps})
    monkeypatch.setattr(computing, "_BEAT_S", 0.0)
    return one


def test_the_same_question_and_code_have_one_answer():
    assert computing.ask(NAME) == computing.ask(NAME)
    assert ComputedAnswer.objects.count() == 1


def test_new_code_asks_anew_and_keeps_the_old_answer(monkeypatch):
    first = computing.ask(NAME)
    monkeypatch.setattr(computing, "code_version", lambda: "another")
    assert computing.ask(NAME) != first
    assert ComputedAnswer.objects.count() == 2


def test_an_unknown_question_is_refused():
    with pytest.raises(KeyError):
        computing.ask("prediction:nope")


def test_a_message_that_comes_twice_computes_once(watched):
    answer = computing.ask(NAME)
    computing.compute(answer.pk)
    computing.compute(answer.pk)
    answer.refresh_from_db()
    assert (watched.runs, answer.status, answer.attempts) == (1, Status.DONE, 1)
    assert answer.result["answer"] == 1.0


def test_a_message_without_a_row_does_nothing():
    computing.compute(4711)


def test_progress_is_kept_while_it_runs(watched):
    answer = computing.ask(NAME)
    watched.between = answer.refresh_from_db
    computing.compute(answer.pk)
    assert (answer.status, answer.progress.words) == (Status.RUNNING, "Simulating 01:00 of 02:00")


def test_a_failure_is_kept_with_its_reason_and_can_be_asked_again(watched, caplog):
    watched.fails = True
    answer = computing.ask(NAME)
    computing.compute(answer.pk)
    answer.refresh_from_db()
    assert (answer.status, answer.error, answer.result) == (Status.FAILED, "the pool is gone", None)
    watched.fails = False
    assert computing.ask_again(answer)
    assert not computing.ask_again(answer)
    computing.compute(answer.pk)
    answer.refresh_from_db()
    assert answer.is_done


def test_a_worker_that_was_given_up_writes_nothing_more(watched):
    answer = computing.ask(NAME)

    def taken_over():
        ComputedAnswer.objects.filter(pk=answer.pk).update(attempts=2)

    watched.between = taken_over
    computing.compute(answer.pk)
    answer.refresh_from_db()
    assert (answer.status, answer.result) == (Status.RUNNING, None)


def test_of_two_pages_that_ask_at_once_one_publishes():
    answer = computing.ask(NAME)
    assert computing.claim_forgotten(answer)
    assert not computing.claim_forgotten(answer)


def test_a_lost_message_is_published_again():
    answer = computing.ask(NAME)
    now = timezone.now()
    assert computing.claim_forgotten(answer, now)
    assert not computing.claim_forgotten(answer, now + timedelta(seconds=19))
    assert computing.claim_forgotten(answer, now + timedelta(seconds=21))


def test_a_run_that_went_silent_goes_back_to_the_queue_and_fails_at_last():
    answer = computing.ask(NAME)
    rows = ComputedAnswer.objects.filter(pk=answer.pk)
    now = timezone.now()
    silent = now - timedelta(seconds=60)
    rows.update(status=Status.RUNNING, attempts=1, heartbeat_at=silent, published_at=silent)
    assert computing.claim_forgotten(answer, now)
    assert rows.get().status == Status.QUEUED
    rows.update(status=Status.RUNNING, attempts=3, heartbeat_at=silent)
    assert not computing.claim_forgotten(answer, now)
    assert rows.get().is_failed


def test_a_run_that_lives_is_left_alone():
    answer = computing.ask(NAME)
    rows = ComputedAnswer.objects.filter(pk=answer.pk)
    rows.update(status=Status.RUNNING, attempts=1, heartbeat_at=timezone.now())
    assert not computing.claim_forgotten(answer)
    assert rows.get().status == Status.RUNNING


def test_the_second_learner_gets_a_short_answer_from_the_table(watched):
    computing.answered_now(NAME)
    computing.answered_now(NAME)
    assert watched.runs == 1


def test_a_short_answer_that_failed_or_was_abandoned_is_computed_at_the_next_page(watched):
    answer = computing.ask(NAME)
    rows = ComputedAnswer.objects.filter(pk=answer.pk)
    rows.update(status=Status.FAILED)
    assert computing.answered_now(NAME).is_done
    silent = timezone.now() - timedelta(minutes=1)
    rows.update(status=Status.RUNNING, attempts=1, heartbeat_at=silent)
    assert computing.answered_now(NAME).is_done


def test_the_task_is_one_call(monkeypatch):
    from lessons.tasks import compute_answer

    called = []
    monkeypatch.setattr(computing, "compute", called.append)
    compute_answer(7)
    assert called == [7]
