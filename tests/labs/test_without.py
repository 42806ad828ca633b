"""A world without one of its changes: what helped, what did not, and the page that says so."""

import json

import pytest
from django.urls import reverse

from labs import errands, outbox, plays, reruns, without, without_runs
from labs.marks import keep
from labs.models import Review, WithoutRun
from labs.without import Verdict
from tests.factories import ActionFactory, AttemptFactory

SLUG = "preemption-storm"


@pytest.fixture(scope="module")
def done(spec, seeds):
    """The demand world's reference play: its log, the change that mends it, and what marking simulates."""
    seed = seeds["demand"]
    play = plays.load_play(SLUG, "reference")
    world, log = plays.perform(spec, seed, play, hypothesis="demand")
    route = plays.reference_route(spec, seed, hypothesis="demand")
    runs = reruns.rerun(spec, "demand", seed, log, reference=route)
    (change,) = without.changes_of(log)
    return log, change, reruns.Kept(runs, route, world.world.cluster.digest())


@pytest.fixture(scope="module")
def left_out(spec, seeds, done):
    log, change, _ = done
    return without.run_without(spec, "demand", seeds["demand"], log, left_out=change)


def test_without_the_change_that_mends_it_the_world_stays_broken(done, left_out):
    _, _, kept = done
    assert kept.reruns.now.passes
    assert not left_out.passes
    assert left_out.alarm == kept.reruns.nothing.alarm
    assert left_out.users_hurt > kept.reruns.now.users_hurt


def test_with_nothing_left_out_it_is_the_world_as_it_was(spec, seeds, done):
    log, _, kept = done
    same = without.run_without(spec, "demand", seeds["demand"], log, left_out=None)
    assert same.passes
    assert same.alarm == kept.reruns.now.alarm


def test_dumped_and_loaded_it_is_the_same(left_out):
    assert without.load(json.loads(json.dumps(without.dump(left_out)))) == left_out


def test_a_change_that_was_not_made_cannot_be_left_out(spec, seeds, done):
    log, _, _ = done
    with pytest.raises(ValueError, match="no change --nothing of engine"):
        without.run_without(spec, "demand", seeds["demand"], log, left_out=("engine", "--nothing"))


@pytest.mark.parametrize(
    ("with_it", "without_it", "says"),
    [
        (True, False, Verdict.NEEDED),
        (True, True, Verdict.IDLE),
        (False, True, Verdict.HARMED),
        (False, False, Verdict.NOT_ENOUGH),
    ],
)
def test_the_verdict_is_what_the_two_runs_differ_in(with_it, without_it, says):
    assert without.verdict(with_it=with_it, without_it=without_it) is says


# ------------------------------------------------------------------------------------- as rows, and a page


@pytest.fixture(autouse=True)
def published(monkeypatch):
    sent = []
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: sent.append((task, object_id)))
    return sent


@pytest.fixture
def attempt(db, seeds, done):
    log, _, kept = done
    found = AttemptFactory(lab_slug=SLUG, seed=seeds["demand"], mark_version=1)
    for entry in log:
        ActionFactory(
            attempt=found,
            kind=entry.kind,
            payload=entry.payload,
            outcome=entry.outcome,
            at_s=entry.at_s,
            cost_s=entry.cost_s,
        )
    keep(found, kept, "demand")
    Review.objects.create(attempt=found)
    return found


@pytest.fixture
def address(attempt):
    return reverse("labs:review-without", args=[attempt.reviews.get().public_id])


def test_asked_for_twice_it_is_run_once(
    attempt, done, published, django_capture_on_commit_callbacks
):
    _, change, _ = done
    with django_capture_on_commit_callbacks(execute=True):
        first, second = without_runs.ask(attempt, change), without_runs.ask(attempt, change)
    assert first == second
    assert published == [(WithoutRun.TASK, first.pk)]


def test_a_worker_stores_what_it_found_and_a_second_message_changes_nothing(
    attempt, done, left_out, monkeypatch
):
    _, change, _ = done
    run = without_runs.ask(attempt, change)
    without_runs.carry_on(run.pk)
    run.refresh_from_db()
    assert (run.status, run.tries) == ("done", 1)
    assert without.load(run.found) == left_out
    monkeypatch.setattr(without, "run_without", None)
    without_runs.carry_on(run.pk)


def test_a_run_that_fails_again_and_again_may_be_asked_for_anew(attempt, done, monkeypatch):
    _, change, _ = done

    def broken(*args, **kwargs):
        raise ZeroDivisionError("a bug of ours")

    run = without_runs.ask(attempt, change)
    with monkeypatch.context() as patch:
        patch.setattr(without, "run_without", broken)
        for _ in range(errands.MAX_TRIES):
            without_runs.carry_on(run.pk)
    run.refresh_from_db()
    assert run.status == "failed"
    assert without_runs.ask(attempt, change).status == "running"


def test_the_page_says_whether_the_change_is_what_helped(grader_client, attempt, address, done):
    _, (target, kind), _ = done
    page = grader_client.get(address).content.decode()
    assert f'Run it without <span class="mono">{kind}</span>' in page
    answer = grader_client.post(address, {"target": target, "kind": kind})
    assert answer.headers["Location"] == f"{address}#change-1"
    assert 'hx-trigger="every 1s"' in grader_client.get(address).content.decode()
    without_runs.carry_on(WithoutRun.objects.get().pk)
    page = grader_client.get(address).content.decode()
    assert "This is what helped" in page
    assert "Without it" in page
    assert "hx-trigger" not in page
    assert attempt.learner.name not in page


def test_a_change_that_was_not_made_is_refused_in_words(grader_client, address):
    grader_client.post(address, {"target": "engine", "kind": "--nothing"})
    assert "This attempt made no such change." in grader_client.get(address).content.decode()
    assert not WithoutRun.objects.exists()


def test_nobody_looks_into_their_own_attempt_and_no_learner_into_any(
    learner_client, grader_client, grader, attempt, address
):
    assert learner_client.get(address).status_code == 403
    attempt.learner = grader
    attempt.save()
    assert grader_client.get(address).status_code == 404


def test_where_nothing_was_changed_or_kept_the_page_says_so(grader_client, attempt, address):
    attempt.kept_reruns.delete()
    assert "was not kept" in grader_client.get(address).content.decode()
    attempt.actions.all().delete()
    assert "Nothing was changed." in grader_client.get(address).content.decode()
