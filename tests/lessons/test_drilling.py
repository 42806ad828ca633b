"""The life of a drill attempt: one decision after the other, none of them twice."""

from datetime import timedelta

import pytest
from django.utils import timezone

from lessons import drilling
from lessons.drills.spec import drills
from lessons.models import DrillAttempt

pytestmark = pytest.mark.django_db
SPEC = drills()["1.1"]


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada@example.org")


def fresh(attempt):
    return DrillAttempt.objects.get(pk=attempt.pk)


def finished(attempt, **said):
    world = SPEC.suspects[SPEC.world_of(attempt.seed)]
    drilling.commit(attempt, "counters", 90, "it differs in every world")
    drilling.strike(attempt, [])
    drilling.explain(attempt, said.get("mechanism", world.mechanism))
    drilling.mend(attempt, said.get("fix", world.fix))
    return fresh(attempt)


def test_starting_twice_is_one_attempt(ada):
    assert drilling.start(ada, SPEC) == drilling.start(ada, SPEC)
    assert DrillAttempt.objects.count() == 1


def test_every_served_world_comes_once_before_one_comes_again(ada):
    met = []
    for _ in SPEC.served:
        attempt = drilling.start(ada, SPEC)
        met.append(SPEC.world_of(attempt.seed))
        finished(attempt)
    assert sorted(met) == sorted(SPEC.served)


def test_a_decision_is_taken_once(ada):
    attempt = drilling.start(ada, SPEC)
    assert drilling.commit(attempt, "diff", 70, "why")
    assert not drilling.commit(attempt, "counters", 90, "again")
    assert fresh(attempt).taken == ["diff"]
    assert drilling.strike(attempt, ["longer"])
    assert not drilling.strike(attempt, [])
    assert drilling.explain(attempt, "prefix_lost")
    assert not drilling.explain(attempt, "more_load")


def test_decisions_come_in_their_order(ada):
    attempt = drilling.start(ada, SPEC)
    assert not drilling.strike(attempt, [])
    assert not drilling.explain(attempt, "prefix_lost")
    assert not drilling.mend(attempt, "reorder")
    assert fresh(attempt).stage == "measure"


def test_more_is_read_once_each_and_not_after_striking(ada):
    attempt = drilling.start(ada, SPEC)
    assert not drilling.take(attempt, "diff")
    drilling.commit(attempt, "counters", 70, "why")
    attempt.refresh_from_db()
    assert drilling.take(attempt, "diff")
    attempt.refresh_from_db()
    assert not drilling.take(attempt, "diff")
    assert attempt.taken == ["counters", "diff"]
    drilling.strike(attempt, [])
    assert not drilling.take(fresh(attempt), "lengths")


def test_two_readings_at_once_lose_none_silently(ada):
    attempt = drilling.start(ada, SPEC)
    drilling.commit(attempt, "counters", 70, "why")
    one, other = fresh(attempt), fresh(attempt)
    assert drilling.take(one, "diff")
    assert not drilling.take(other, "lengths")
    assert fresh(attempt).taken == ["counters", "diff"]


def test_the_mark_is_stored_with_its_reasons(ada):
    done = finished(drilling.start(ada, SPEC))
    assert done.stage == "done"
    assert done.total == round(sum(part["earned"] for part in done.parts), 1)
    assert all(part["reason"] for part in done.parts)
    assert done.finished_at is not None


def test_the_right_fix_ends_the_symptom_and_another_does_not(ada):
    attempt = drilling.start(ada, SPEC)
    right = SPEC.suspects[SPEC.world_of(attempt.seed)].fix
    name = SPEC.symptom.signal
    assert drilling.observed(attempt, fix=right).values[name] <= SPEC.symptom.held
    for wrong in set(SPEC.fixes) - {right}:
        assert drilling.observed(attempt, fix=wrong).values[name] > SPEC.symptom.held


# ------------------------------------------------------------------------------------------------ hints


def after(now, seconds):
    return now + timedelta(seconds=seconds)


def test_a_hint_of_a_drill_opens_after_its_wait_and_the_next_only_then(ada):
    attempt, now = drilling.start(ada, SPEC), timezone.now()
    assert not drilling.ask_hint(attempt, 2, now=now)
    assert drilling.ask_hint(attempt, 1, now=now)
    assert drilling.hints_of(attempt) == [after(now, drilling.HINT_WAIT_S)]
    assert not drilling.ask_hint(attempt, 2, now=after(now, 19))
    assert drilling.ask_hint(attempt, 2, now=after(now, 20))
    assert not drilling.ask_hint(attempt, 3, now=after(now, 60))


def test_asking_for_the_same_hint_twice_spends_one(ada):
    attempt, now = drilling.start(ada, SPEC), timezone.now()
    stale = fresh(attempt)
    drilling.ask_hint(attempt, 1, now=now)
    assert drilling.ask_hint(stale, 1, now=after(now, 5))
    assert fresh(attempt).hints == [["measure", after(now, 20).isoformat()]]


def test_of_two_hints_asked_for_at_once_one_is_kept(ada, monkeypatch):
    attempt, now = drilling.start(ada, SPEC), timezone.now()
    slower = fresh(attempt)
    drilling.ask_hint(attempt, 1, now=now)
    # The slower one has read the row before the other wrote it.
    reads = iter([lambda: None, slower.refresh_from_db])

    def read():
        next(reads)()

    monkeypatch.setattr(slower, "refresh_from_db", read)
    assert drilling.ask_hint(slower, 1, now=after(now, 1))
    assert len(fresh(attempt).hints) == 1


def test_an_open_hint_takes_a_point_from_its_decision_and_a_closed_one_none(ada):
    totals = []
    for opened in (True, False):
        attempt = drilling.start(ada, SPEC)
        then = after(timezone.now(), -60 if opened else 0)
        drilling.ask_hint(attempt, 1, now=then)
        done = finished(attempt)
        totals.append((done.parts[0]["earned"], len(done.hints)))
    assert totals == [(5.0, 1), (6.0, 0)]
    assert "With a hint: 1 less." in DrillAttempt.objects.first().parts[0]["reason"]


def test_a_decision_that_is_made_gives_no_hint_any_more(ada):
    attempt = drilling.start(ada, SPEC)
    finished(attempt)
    assert not drilling.ask_hint(attempt, 1)
