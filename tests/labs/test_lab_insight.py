"""What a class did in a lab: pure, from rows, and as pages for instructors."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from courseware.models import User
from labs import class_attempts, reruns
from labs.catalogue import labs
from labs.lab_insight import (
    LEAST,
    Changed,
    Diagnosed,
    Handled,
    Worth,
    insight_of,
)
from labs.lab_stops import Stopped, stops_of
from labs.models import Action, Attempt, KeptReruns
from tests.factories import ActionFactory, AttemptFactory, UserFactory

LAB = "preemption-storm"
SPEC = labs()[LAB]
WORTHS = (
    Worth("log", "Engine log", 1.0, 30.0, 2.0),
    Worth("gpu", "GPU utilisation", 0.1, 15.0, 0.4),
)


def handled(learner, **fields):
    known = {
        "world": "demand",
        "total": 60.0 + learner,
        "passed": learner % 2 == 0,
        "parts": {"scope": (10.0, 10.0), "mechanism": (float(learner), 25.0)},
        "first": "log" if learner < 4 else "gpu",
        "worths": WORTHS,
        "clock_s": 60 * learner,
        "worked_s": 120.0 * learner,
    }
    return Handled(learner=learner, **{**known, **fields})


def test_below_ten_learners_nothing_is_said():
    nine = [handled(n) for n in range(LEAST - 1)]
    assert insight_of(nine) is None
    assert insight_of([*nine, handled(8)]) is None
    assert insight_of([*nine, handled(9)]) is not None


def test_first_measurements_stand_beside_their_worth_the_worthiest_first():
    found = insight_of([handled(n) for n in range(9)] + [handled(9, first=None)])
    log, gpu = found.firsts
    assert (log.worth.title, log.chosen.count, log.is_best) == ("Engine log", 4, True)
    assert (gpu.chosen.share, gpu.is_best) == (0.5, False)
    assert found.none_first == 1
    assert found.of_best == pytest.approx((4 * 2.0 + 5 * 0.4) / 2.0 / 10)


def test_a_fix_is_counted_where_it_helped_and_where_it_did_not():
    good, bad = Changed("a", "More memory", True), Changed("a", "More memory", False)
    other = Changed("b", "Restart", False)
    rows = [handled(n) for n in range(7)]
    rows += [handled(7, changes=(good,)), handled(8, changes=(bad, other), world="storm")]
    rows += [handled(9, changes=(bad,), world="storm")]
    found = insight_of(rows)
    first, second = found.fixes
    assert (first.title, first.made, first.in_vain) == ("More memory", 3, 2)
    assert (first.helps_in, first.vain_in) == (("demand",), ("storm",))
    assert (second.title, second.in_vain) == ("Restart", 1)
    assert found.changed_in_vain.count == 2


def test_means_have_students_interval_and_small_groups_none():
    rows = [handled(n, world="rare" if n < 4 else "demand", total=50.0 + n) for n in range(10)]
    found = insight_of(rows)
    assert found.mark.value == pytest.approx(54.5)
    low, high = found.mark.interval
    # 1.8331 is Student's t for 90 % and nine degrees of freedom; 3.0277 the deviation of 0 to 9.
    assert high - 54.5 == pytest.approx(1.8331 * 3.0277 / 10**0.5, abs=1e-3)
    assert found.mark.value - low == pytest.approx(high - found.mark.value)
    worlds = {each.key: each for each in found.worlds}
    assert (worlds["rare"].n, worlds["rare"].mark) == (4, None)
    assert worlds["demand"].mark.n == 6


def test_confidence_stands_against_right_and_what_wrong_diagnoses_said():
    rows = [
        handled(n, diagnosed=Diagnosed(90 if n < 6 else 50, n % 3 == 0, "Too small a pool"))
        for n in range(10)
    ]
    fifty, ninety = insight_of(rows).levels
    assert (fifty.percent, fifty.n, fifty.right) == (50, 4, None)
    assert (ninety.n, ninety.right.count) == (6, 2)
    assert insight_of(rows).wrong == (("Too small a pool", 6),)


def test_time_is_told_in_quartiles():
    found = insight_of([handled(n) for n in range(11)])
    assert (found.clock.low, found.clock.middle, found.clock.high) == (150, 300, 450)
    assert found.worked.middle == 600


def test_stops_are_counted_by_the_phase_that_was_reached():
    rows = [Stopped("Change", 300, True), Stopped("Investigate", 60, False)]
    found = stops_of(rows, begun=20)
    assert (found.given_up, found.left, found.clock) == (1, 1, None)
    assert dict(found.phases)["Change"] == 1
    assert stops_of(rows * 3, begun=20).clock.middle == 180


# ---------------------------------------------------------------------------------------------- rows


def marked(learner, *, number=1, first="log", right=True, total=70, **fields):
    """Make a marked attempt with its diagnosis: right, or sure of another mechanism."""
    value = [
        {"instrument": key, "title": key, "bits": 1.0, "seconds": 30.0, "value": rate, "yours": key == first}
        for key, rate in (("log", 2.0), ("gpu", 0.5))
    ]  # fmt: skip
    parts = [
        {"name": "mechanism", "earned": 25.0 if right else 0.0, "weight": 25, "reason": "",
         "details": {"credit": 1.0 if right else 0.0}},
    ]  # fmt: skip
    mark = {"passed": right, "parts": parts, "debrief": {"hypothesis": "demand", "value": value}}
    begun = timezone.now() - timedelta(hours=2)
    attempt = AttemptFactory(
        learner=learner, number=number, total=total, mark=mark, clock_s=600, started_at=begun,
        finished_at=begun + timedelta(minutes=20), **fields,
    )  # fmt: skip
    said = {"scope": "fault", "confidence": 90, "mechanism": next(iter(SPEC.mechanisms))}
    at = begun + timedelta(minutes=10)
    ActionFactory(attempt=attempt, kind=Action.Kind.DIAGNOSE, payload=said, created_at=at)
    return attempt


def learners():
    return User.objects.filter(role=User.Role.LEARNER)


@pytest.fixture
def people(db):
    return UserFactory.create_batch(10)


def test_one_learner_counts_once_with_the_first_mark(people):
    for each in people:
        marked(each)
    marked(people[0], number=2, total=100, first="gpu")
    found = class_attempts.insight(SPEC, 1, learners())
    assert (found.n, found.mark.value) == (10, 70)
    assert found.firsts[0].chosen.count == 10
    assert found.worked.middle == 20 * 60


def test_versions_are_kept_apart_and_only_learners_count(people):
    for each in people[:9]:
        marked(each)
    marked(people[9], lab_version=2)
    marked(UserFactory(role=User.Role.INSTRUCTOR))
    assert class_attempts.insight(SPEC, 1, learners()) is None
    assert class_attempts.versions_of(LAB, learners()) == [2, 1]
    assert class_attempts.briefs(learners())[LAB].learners == 1


def test_a_pause_is_no_work():
    at = datetime(2027, 3, 1, 9, tzinfo=UTC)
    moments = [at, at + timedelta(minutes=10), at + timedelta(hours=5), None]
    assert class_attempts.worked_s(moments) == 600


def test_what_marking_takes_for_a_false_fix_was_made_in_vain(people):
    def rerun(passes, restored):
        return {"passes": passes, "restored": restored}

    def atom(target, kind, alone, without=None):
        return {
            "target": target, "kind": kind, "touches_cause": alone["passes"], "alone": alone, "without": without,
        }  # fmt: skip

    told = {"fared": {}, "alarm": [], "in_force": [], "digest": None, "users_hurt": 0, "lost_share": 0.0,
            "parameter": None, "cause_gone": True, "passes": True}  # fmt: skip
    names = set(reruns.ToldTwin.__dataclass_fields__)
    told = {name: told.get(name) for name in names}
    stored = {
        "format": reruns.FORMAT,
        "reruns": {
            "now": told, "nothing": told, "reference": told, "whole": rerun(True, 1.0),
            "atoms": [
                atom("engine", "--kv-cache-dtype", rerun(True, 1.0)),
                atom("router", "shed", rerun(False, 0.0), rerun(True, 1.0)),
            ],
            "in_force": [],
        },
        "reference": {"signals": {}, "steps": []},
        "live_digest": None,
    }  # fmt: skip
    for each in people:
        KeptReruns.objects.create(attempt=marked(each), hypothesis="demand", kept=stored)
    shed, memory = class_attempts.insight(SPEC, 1, learners()).fixes
    assert (shed.title, shed.made, shed.in_vain) == ("Shed 20 %", 10, 10)
    assert (memory.title, memory.in_vain, memory.helps_in) == (
        "FP8 keys and values",
        0,
        ("demand",),
    )


def test_an_attempt_that_was_given_up_or_left_says_how_far_it_came(people):
    now = timezone.now()
    gone = AttemptFactory(learner=people[0], status=Attempt.Status.GIVEN_UP, clock_s=90)
    ActionFactory(attempt=gone, kind="predict")
    ActionFactory(attempt=gone, outcome={"kind": "reading"})
    left = AttemptFactory(learner=people[1], status=Attempt.Status.OPEN)
    ActionFactory(attempt=left, kind="begin", created_at=now - timedelta(days=8))
    fresh = AttemptFactory(learner=people[2], status=Attempt.Status.OPEN)
    ActionFactory(attempt=fresh, kind="begin", created_at=now)
    found = class_attempts.stops(LAB, 1, learners(), now)
    assert (found.begun, found.given_up, found.left) == (3, 1, 1)
    phases = dict(found.phases)
    assert (phases["Investigate"], phases["Brief"]) == (1, 1)


# --------------------------------------------------------------------------------------------- pages


INDEX = "/labs/insight/"
PAGE = f"/labs/insight/{LAB}/"


def text(response):
    return response.content.decode()


@pytest.mark.django_db
def test_only_instructors_look(client, learner_client, grader_client, instructor_client):
    for address in (INDEX, PAGE):
        assert client.get(address).status_code == 302
        assert learner_client.get(address).status_code == 403
        assert grader_client.get(address).status_code == 403
        assert instructor_client.get(address).status_code == 200
    unknown = reverse("labs:insight-lab", args=["no-such"])
    assert instructor_client.get(unknown).status_code == 404


def test_nine_are_too_few_and_nothing_of_theirs_is_shown(people, instructor_client):
    for each in people[:9]:
        marked(each)
    page = text(instructor_client.get(PAGE))
    assert "Fewer than 10 learners have a mark" in page
    assert "70.0" not in page
    assert "too few: 9" in text(instructor_client.get(INDEX))


def test_the_page_shows_the_newest_version_unless_another_is_asked_for(people, instructor_client):
    for each in people:
        marked(each)
        marked(each, number=2, lab_version=2, total=90, right=False)
    page = text(instructor_client.get(PAGE))
    assert "10 learners in version 2" in page
    assert ">90.0</output>" in page
    assert "wrong diagnoses" in page
    page = text(instructor_client.get(PAGE, {"version": "1"}))
    assert ">70.0</output>" in page
    assert "Somebody" not in page
    page = text(instructor_client.get(PAGE, {"version": "<b>"}))
    assert "Nobody has begun version &lt;b&gt;" in page


def test_two_hundred_learners_take_as_many_queries_as_ten(
    people, instructor_client, django_assert_max_num_queries
):
    for each in [*people, *UserFactory.create_batch(30)]:
        marked(each)
    with django_assert_max_num_queries(12):
        instructor_client.get(PAGE)
    with django_assert_max_num_queries(8):
        instructor_client.get(INDEX)
