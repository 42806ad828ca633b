"""The life of a drill attempt: one decision after the other, none of them twice."""

import pytest

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
