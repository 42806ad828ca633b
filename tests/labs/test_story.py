"""An attempt moment by moment: what had been read, what was believed, what was best next; and who may look."""

import pytest
from django.urls import reverse

from labs import pool
from labs.models import Action
from labs.story import scene_of, story_of
from tests.factories import ActionFactory, AttemptFactory, make_review

pytestmark = pytest.mark.django_db

ALARM = [[-600, 0.3], [0, 44.0], [60, 50.0], [600, 0.5], [1020, 0.4]]
HURT = [[0, 0, 31.0], [45, 24, 33.0], [125, 71, 12.5], [1025, 90, 0.0]]
PANEL = {"alarm": ALARM, "hurt": HURT}
STEPS = [
    {"kind": "reading", "at_s": 15, "cost_s": 15, "title": "Memory ledger"},
    {"kind": "change", "at_s": 95, "cost_s": 80, "title": "Restarted with fp8"},
    {"kind": "wait", "at_s": 695, "cost_s": 600, "title": "Waited"},
]


@pytest.fixture
def review():
    found = make_review()
    attempt = found.attempt
    attempt.panel = PANEL
    attempt.mark["debrief"]["reference_steps"] = STEPS
    attempt.save()
    return found


@pytest.fixture
def story(review):
    """The story of an attempt that moved two sliders after its reading."""
    attempt = review.attempt
    for action in attempt.actions.filter(seq__gt=1).order_by("-seq"):
        Action.objects.filter(pk=action.pk).update(seq=action.seq + 2)
    for seq, payload in ((2, {"demand": 60}), (3, {"leak": 0})):
        ActionFactory(attempt=attempt, seq=seq, kind="beliefs", payload=payload, at_s=45)
    return told(attempt)


def told(attempt):
    return story_of(attempt.spec, list(attempt.actions.all()), PANEL, attempt.mark)


def scene(story, seq, *, table="own"):
    found = pool.table(story.spec.slug) if table == "own" else table
    return scene_of(story, story.at(seq), table=found, healthy={"offered_load_12m": "0.70"})


def test_sliders_moved_one_after_the_other_are_one_moment(story):
    kinds = [each.kind for each in story.moments]
    assert kinds[:4] == ["predict", "reading", "beliefs", "diagnose"]
    assert "60 %" in story.moments[2].title
    assert "ruled out" in story.moments[2].title
    assert story.moments[2].seq == 3


def test_a_moment_knows_what_was_read_until_then_and_nothing_of_what_came_later(story):
    before, after, end = scene(story, 0), scene(story, 1), scene(story, 99)
    assert before.known == ()
    assert {each.number for each in after.known} == {1}
    assert "0.70" in [each.healthy for each in after.known]
    assert {each.number for each in end.known} == {1, 4}
    assert (before.in_force, len(end.in_force)) == ((), 1)
    assert (before.spent, after.spent, end.spent) == ("0:00", "0:45", "10:45")


def test_the_alarm_reads_what_it_read_then(story):
    assert (scene(story, 1).alarm.value, scene(story, 1).alarm.is_held) == ("44.0", False)
    assert (scene(story, 99).alarm.value, scene(story, 99).alarm.is_held) == ("0.40", True)


def test_users_hurt_are_those_of_then_and_absent_where_none_were_kept(story):
    assert scene(story, 1).hurt == ("24", "33")
    assert scene(story, 99).hurt == ("90", "0")
    older = story_of(story.spec, story.log, {"alarm": ALARM}, story.mark)
    assert scene(older, 1).hurt is None


def test_beliefs_stand_beside_what_the_readings_leave(story):
    by_key = dict(zip(story.spec.hypotheses, scene(story, 3).believed, strict=True))
    assert (by_key["demand"].said, by_key["demand"].is_true) == ("60 %", True)
    assert (by_key["leak"].said, by_key["metastable"].said) == ("ruled out", "open")
    assert int(by_key["demand"].told.split()[0]) > 80
    untold = dict(zip(story.spec.hypotheses, scene(story, 0).believed, strict=True))
    assert untold["demand"].said == "open"
    assert untold["demand"].told == f"{100 * story.spec.priors['demand']:.0f} %"


def test_the_best_next_measurement_is_computed_from_what_was_read(story):
    first, later = scene(story, 0).best, scene(story, 1).best
    rates = [float(row.rate) for row in first.rows]
    assert rates == sorted(rates, reverse=True)
    assert all(float(row.rate) < rates[0] for row in later.rows)
    load = story.spec.instruments["offered_load"].title
    assert any(row.is_taken for row in first.rows) or load in first.took
    assert first.decided == ""
    assert later.decided.startswith(story.spec.hypotheses["demand"].title)


def test_what_has_been_read_already_is_not_named_again(story):
    shown = story.spec.instruments["offered_load"].signals
    Action.objects.filter(kind="command", seq=1).update(
        outcome={
            "kind": "reading",
            "number": 1,
            "instrument": "offered_load",
            "signals": dict.fromkeys(shown, 1.0),
        }
    )
    attempt = Action.objects.get(kind="command", seq=1).attempt
    title = story.spec.instruments["offered_load"].title
    assert title not in [row.title for row in scene(told(attempt), 1).best.rows]


def test_after_the_diagnosis_nothing_is_best_next(story):
    assert "Asking ended" in scene(story, 99).best.why_not


def test_without_a_table_it_says_so_and_shows_the_rest(story):
    found = scene(story, 1, table=None)
    assert "computed anew" in found.best.why_not
    assert found.believed[0].told == ""
    assert found.known


def test_the_reference_is_shown_as_far_as_it_was_by_then(story):
    found = scene(story, 1).reference
    assert found.done == ("0:15 Memory ledger",)
    assert found.following == "1:35 Restarted with fp8"
    assert scene(story, 99).reference.following == ""


def test_an_address_that_is_no_moment_leads_to_the_nearest(story):
    assert story.at(2).seq == 1
    assert story.at(1_000).seq == story.moments[-1].seq
    assert story.at_place(0) is story.moments[0]
    assert story.at_place(1_000) is story.moments[-1]


# --------------------------------------------------------------------------------------------- pages


def address(review, name="review-story"):
    owner = review if name == "review-story" else review.attempt
    return reverse(f"labs:{name}", args=[owner.public_id])


def test_the_page_shows_the_moment_that_its_address_names(grader_client, review):
    page = grader_client.get(address(review) + "?at=1").content.decode()
    assert 'id="m1"' in page
    assert "moment 2 of 7" in page
    assert "of 111,120" in page
    assert "Restarted with --kv-cache-dtype fp8" in page, "in the list of all moments"
    assert 'id="m0"' in grader_client.get(address(review) + "?at=x").content.decode()


def test_a_part_is_only_the_scene_and_says_its_address(grader_client, review):
    found = grader_client.get(address(review), {"place": "2"}, headers={"HX-Request": "true"})
    assert found.headers["HX-Replace-Url"].endswith("?at=1#m1")
    assert "<main" not in found.content.decode()


def test_nothing_on_a_graders_page_says_whose_attempt_it_is(grader_client, review):
    learner = review.attempt.learner
    page = grader_client.get(address(review) + "?at=6").content.decode()
    assert learner.name not in page
    assert learner.email not in page


def test_only_graders_and_its_own_learner_may_look(client, learner_client, grader_client, review):
    assert client.get(address(review)).status_code == 302
    assert learner_client.get(address(review)).status_code == 403
    assert learner_client.get(address(review, "story")).status_code == 404
    assert grader_client.get(address(review, "story")).status_code == 404
    client.force_login(review.attempt.learner, backend="django.contrib.auth.backends.ModelBackend")
    page = client.get(address(review, "story") + "?at=1").content.decode()
    assert "what you believed" in page


def test_a_learner_sees_nothing_of_it_before_the_mark(client):
    attempt = AttemptFactory(status="marking")
    client.force_login(attempt.learner, backend="django.contrib.auth.backends.ModelBackend")
    found = client.get(reverse("labs:story", args=[attempt.public_id]))
    assert found.headers["Location"] == attempt.get_absolute_url()


def test_an_attempt_in_which_nothing_was_done_has_a_page(grader_client, review):
    review.attempt.actions.all().delete()
    assert "Nothing was done." in grader_client.get(address(review)).content.decode()
