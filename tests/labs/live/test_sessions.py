"""A live attempt, from the lease to its record: what an action meets while the engine runs."""

import time

import pytest

from labs import attempts, live_records
from labs.live import beginning
from labs.models import Action, Attempt, Lease

from .attempts_on_fakes import *  # noqa: F403
from .attempts_on_fakes import now

pytestmark = pytest.mark.django_db
Kind, Status, Reason = Action.Kind, Action.Status, Lease.Reason


def commands(attempt):
    return list(attempt.actions.filter(kind=Kind.COMMAND).order_by("seq"))


def test_an_attempt_runs_from_its_lease_to_its_record(lease, held):
    attempt, engines = lease.attempt, []

    def look_at_it():
        engines.append(now(lease).pids["engine-0"])

    held(
        lambda: (look_at_it(), attempts.command(attempt, "curl localhost:8000/metrics")),
        lambda: attempts.command(attempt, "restart --max-num-seqs 20"),
        lambda: attempts.command(attempt, "wait 2s"),
        lambda: (look_at_it(), attempts.finish(attempt)),
    )
    assert engines[0] != engines[1]  # The operator finds the engine that runs now.
    assert now(lease).end_reason == Reason.FINISHED
    assert [each.status for each in commands(attempt)] == [Status.DONE] * 3
    record = live_records.incident_of(now(attempt))
    assert record.fleet.config.max_num_seqs == 20
    assert record.clock_s >= attempt.clock_s + 1
    assert attempt.panel["gauges"]["users_hurt"] >= 0


def test_the_world_of_somebody_who_wrote_for_long_has_been_watched_already(
    lease, held, monkeypatch
):
    attempt, followed = lease.attempt, []

    def write_for_minutes():
        for each in followed:
            each.page_ns -= 300 * 10**9

    original = beginning.begin

    def begin(incident, tell):
        original(incident, tell)
        followed.append(beginning.cluster_of(incident).clock)
        beginning.cluster_of(incident).workload.set_rate(0.0, 0.0)

    monkeypatch.setattr(beginning, "begin", begin)
    began = []
    held(
        lambda: attempts.command(attempt, "curl localhost:8000/metrics"),
        write_for_minutes,
        lambda: (began.append(time.monotonic()), attempts.finish(attempt)),
    )
    assert now(attempt).clock_s < 100
    record = live_records.incident_of(attempt)
    assert record.clock_s >= 300
    assert time.monotonic() - began[0] < 3.0


def test_a_long_wait_is_cancelled_within_a_second_and_charged_nothing(lease, held, monkeypatch):
    attempt, asked = lease.attempt, []
    original = beginning.LiveCluster.advance

    def advance(self, until_s):
        # While it waits, its person cancels.
        waiting = Action.objects.filter(kind=Kind.COMMAND, status=Status.RUNNING).first()
        if waiting is not None and not asked:
            asked.append(time.monotonic())
            assert attempts.cancel(waiting)
        original(self, until_s)

    monkeypatch.setattr(beginning.LiveCluster, "advance", advance)
    held(
        lambda: attempts.command(attempt, "wait 4m"),
        lambda: asked.append(time.monotonic()),
        lambda: attempts.finish(attempt),
    )
    (waited,) = commands(attempt)
    assert (waited.status, waited.cost_s) == (Status.CANCELLED, 0)
    assert asked[1] - asked[0] < 1.0
    assert now(lease).end_reason == Reason.FINISHED


def test_a_change_that_a_real_engine_has_begun_is_not_cancelled(lease, held, monkeypatch):
    attempt, answers = lease.attempt, []
    original = beginning.LiveCluster.advance

    def advance(self, until_s):
        changing = Action.objects.filter(kind=Kind.COMMAND, status=Status.RUNNING).first()
        if changing is not None and not answers:
            answers.append(attempts.cancel(changing))
        original(self, until_s)

    monkeypatch.setattr(beginning.LiveCluster, "advance", advance)
    held(lambda: attempts.command(attempt, "shed 20%"), lambda: attempts.finish(attempt))
    assert answers == [False]
    (changed,) = commands(attempt)
    assert (changed.status, changed.cancel_requested) == (Status.DONE, False)


def test_a_change_that_waits_is_cancelled_as_ever(lease):
    Attempt.objects.filter(pk=lease.attempt_id).update(status="open")
    lease.attempt.actions.update(status=Status.DONE)
    action = attempts.command(lease.attempt, "shed 20%")
    assert attempts.cancel(action)
    assert now(action).status == Status.CANCELLED


def test_settings_that_the_engine_refuses_end_nothing_and_others_bring_it_back(lease, held, fake):
    attempt = lease.attempt
    fake.set(refuses="--watermark")

    session = []
    original = beginning.begin

    def begin(incident, tell):
        original(incident, tell)
        session.append(incident)

    def settled():
        replica = beginning.cluster_of(session[0]).replicas[0]
        replica.join()
        beginning.at_now(session[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beginning, "begin", begin)
        held(
            lambda: attempts.command(attempt, "restart --watermark 0.2"),
            settled,
            lambda: attempts.command(attempt, "cat engine.log"),
            lambda: attempts.command(attempt, "curl localhost:8000/health"),
            lambda: attempts.command(attempt, "restart --watermark 0"),
            settled,
            lambda: attempts.command(attempt, "curl localhost:8000/health"),
            lambda: attempts.finish(attempt),
        )
    _, log, down, _, up_again = (each.outcome["text"] for each in commands(attempt))
    assert "vllm: error: argument --watermark: invalid value" in log
    assert log.endswith("the engine is down; its log ends here")
    assert down.startswith("curl: (7) Failed to connect")
    assert up_again == "HTTP 200, empty body"
    assert now(lease).end_reason == Reason.FINISHED
