"""Rounds of marking anew: looked at without touching a mark, applied once, undone; and whoever was quicker wins."""

import json
from dataclasses import asdict
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from labs import errands, mark_changes, marks, outbox, plays, pool, remarker, remarking, reruns
from labs.judgement import judge
from labs.mark_diff import plain
from labs.models import Action, Attempt, KeptReruns, MarkChange, PlannedMark, Remarking, Review
from labs.rules import rules_of
from tests.factories import ActionFactory, AttemptFactory

pytestmark = pytest.mark.django_db
SLUG = "preemption-storm"


@pytest.fixture(autouse=True)
def published(monkeypatch):
    sent = []
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: sent.append((task, object_id)))
    return sent


@pytest.fixture(scope="module")
def played(spec, seeds):
    """The demand world's reference play, judged: its log, what was kept, and its mark as a database returns it."""
    seed = seeds["demand"]
    route = plays.reference_route(spec, seed, hypothesis="demand")
    play = plays.load_play(SLUG, "cap-where-demand-is-the-cause")
    world, log = plays.perform(spec, seed, play, hypothesis="demand")
    runs = reruns.rerun(spec, "demand", seed, log, reference=route)
    kept = reruns.Kept(runs, route, world.world.cluster.digest())
    judgement = judge(
        spec,
        seed,
        log,
        table=pool.table(SLUG),
        reference=route,
        runs=runs,
        live_digest=kept.live_digest,
        hypothesis="demand",
    )
    return seed, log, reruns.dump(kept), plain(asdict(judgement))


@pytest.fixture
def stored(played):
    """Store the played attempt, with what was kept of it or without: ``stored()``."""
    seed, log, kept, mark = played

    def store(*, with_reruns=True):
        attempt = AttemptFactory(
            lab_slug=SLUG, seed=seed, mark=mark, total=mark["total"], rules="old", mark_version=1
        )
        for entry in log:
            ActionFactory(
                attempt=attempt,
                kind=entry.kind,
                payload=entry.payload,
                outcome=entry.outcome,
                at_s=entry.at_s,
                cost_s=entry.cost_s,
            )
        if with_reruns:
            KeptReruns.objects.create(attempt=attempt, hypothesis="demand", kept=kept)
        return attempt

    return store


@pytest.fixture
def kinder(monkeypatch):
    """Rules by which every mitigation earns all of its points."""
    real = remarker.marks.judge

    def judged(*args, **kwargs):
        found = plain(asdict(real(*args, **kwargs)))
        part = next(each for each in found["parts"] if each["name"] == "mitigation")
        gain, part["earned"] = part["weight"] - part["earned"], float(part["weight"])
        found["total"] = round(found["total"] + gain, 1)
        return type(real(*args, **kwargs))(**found)

    monkeypatch.setattr(marks, "judge", judged)


def counted(**how):
    found = remarking.ask([SLUG], send=False, **how)
    remarker.carry_on(found.pk)
    found.refresh_from_db()
    return found


def applied(found, reason="the table was wrong"):
    assert remarking.apply(found, reason=reason, send=False)
    remarker.carry_on(found.pk)
    found.refresh_from_db()
    return found


def test_under_the_same_rules_no_mark_changes(stored):
    attempt = stored()
    found = counted()
    assert (found.status, found.looked_at, found.as_before) == ("ready", 1, 1)
    assert remarking.summary_of(found).sentence == "No mark changes."
    attempt.refresh_from_db()
    assert attempt.mark_version == 1


def test_other_rules_are_shown_before_a_mark_is_touched(stored, kinder):
    attempt = stored()
    found = counted()
    planned = found.planned.get()
    gain = float(planned.total) - float(attempt.total)
    assert gain > 0
    assert remarking.summary_of(found).sentence == f"Moves 1 mark, mean {gain:+.1f}."
    attempt.refresh_from_db()
    assert attempt.rules == "old"
    assert not MarkChange.objects.exists()


def test_applied_each_mark_has_its_trail(stored, kinder, instructor):
    attempt, before = stored(), None
    before = attempt.mark
    found = counted(by=instructor)
    applied(found)
    attempt.refresh_from_db()
    assert (found.status, attempt.mark_version, attempt.rules) == ("applied", 2, rules_of(SLUG))
    assert attempt.mark == found.planned.get().mark
    change = attempt.mark_changes.get()
    assert (change.cause, change.reason, change.version) == ("remarked", "the table was wrong", 2)
    assert change.before == before
    assert change.after_total == attempt.total > change.before_total


def test_undone_every_mark_is_what_it_was_and_the_trail_says_so(stored, kinder):
    attempt = stored()
    mark = attempt.mark
    found = applied(counted())
    assert remarking.undo(found, send=False)
    remarker.carry_on(found.pk)
    attempt.refresh_from_db()
    assert (attempt.mark, attempt.rules, attempt.mark_version) == (mark, "old", 3)
    assert [each.cause for each in attempt.mark_changes.all()] == ["remarked", "undone"]


def test_a_mark_that_somebody_changed_meanwhile_is_passed_over(stored, kinder, instructor):
    attempt = stored()
    found = counted()
    mark_changes.override(attempt, "scope", 0, reason="named none", by=instructor, version=1)
    applied(found)
    attempt.refresh_from_db()
    assert (found.passed_over, attempt.mark_version) == (1, 2)


def test_an_undo_leaves_alone_what_was_changed_after_the_round(stored, kinder, instructor):
    attempt = stored()
    found = applied(counted())
    attempt.refresh_from_db()
    mark_changes.override(attempt, "scope", 0, reason="named none", by=instructor, version=2)
    assert remarking.undo(found, send=False)
    remarker.carry_on(found.pk)
    found.refresh_from_db()
    attempt.refresh_from_db()
    assert (found.status, found.passed_over, attempt.mark_version) == ("undone", 1, 3)


def test_points_that_people_gave_survive_other_rules(stored, kinder, instructor):
    attempt = stored()
    mark_changes.override(attempt, "scope", 3, reason="half named", by=instructor, version=1)
    applied(counted())
    attempt.refresh_from_db()
    scope = next(part for part in attempt.mark["parts"] if part["name"] == "scope")
    assert (scope["earned"], scope["given_because"]) == (3.0, "half named")


def test_an_attempt_without_kept_reruns_is_counted_and_left_alone(stored, kinder):
    attempt = stored(with_reruns=False)
    found = counted()
    assert (found.without_reruns, found.planned.count()) == (1, 0)
    attempt.refresh_from_db()
    assert attempt.mark_version == 1


def test_a_round_that_a_worker_has_is_left_alone(stored, kinder):
    stored()
    found = remarking.ask([SLUG], send=False)
    Remarking.objects.update(heartbeat_at=timezone.now())
    remarker.carry_on(found.pk)
    found.refresh_from_db()
    assert (found.status, found.looked_at) == ("counting", 0)


def test_a_round_whose_worker_died_is_carried_on_where_it_was(
    stored, kinder, monkeypatch, settings, published, django_capture_on_commit_callbacks
):
    for _ in range(3):
        stored()
    monkeypatch.setattr(remarker, "CHUNK", 1)
    found = remarking.ask([SLUG], send=False)
    real, looked = remarker._look_at, []

    def dies_at_the_second(attempt, *rest):
        looked.append(attempt.pk)
        if len(looked) == 2:
            raise KeyboardInterrupt
        real(attempt, *rest)

    monkeypatch.setattr(remarker, "_look_at", dies_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        remarker.carry_on(found.pk)
    assert found.planned.count() == 1
    long_ago = timezone.now() - timedelta(seconds=settings.LABS_SILENCE_S + 1)
    Remarking.objects.update(heartbeat_at=long_ago)
    with django_capture_on_commit_callbacks(execute=True):
        assert errands.tend(Remarking) == 1
    assert published == [(Remarking.TASK, found.pk)]
    remarker.carry_on(found.pk)
    found.refresh_from_db()
    assert (found.status, found.looked_at, found.planned.count(), found.tries) == ("ready", 3, 3, 2)
    assert looked == [looked[0], looked[1], looked[1], looked[3]]


def test_a_worker_that_was_given_up_for_dead_writes_nothing(stored, kinder, monkeypatch):
    stored()
    found = remarking.ask([SLUG], send=False)
    real = remarker._look_at

    def while_another_takes_it(*args):
        Remarking.objects.update(tries=2)
        real(*args)

    monkeypatch.setattr(remarker, "_look_at", while_another_takes_it)
    remarker.carry_on(found.pk)
    found.refresh_from_db()
    assert (found.status, found.looked_at) == ("counting", 0)
    assert not PlannedMark.objects.exists()


def test_a_round_that_fails_again_and_again_is_given_up(stored, monkeypatch):
    stored()
    found = remarking.ask([SLUG], send=False)

    def broken(*args):
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(remarker, "_count", broken)
    for _ in range(errands.MAX_TRIES):
        remarker.carry_on(found.pk)
    found.refresh_from_db()
    assert found.status == "failed"


def test_an_attempt_that_cannot_be_judged_stops_no_other(stored, kinder, monkeypatch):
    broken, _ = stored(), stored()
    Action.objects.filter(attempt=broken, kind="diagnose").update(payload={"citations": [{}]})
    found = counted()
    assert (found.status, found.looked_at, found.planned.count()) == ("ready", 2, 1)
    assert found.faults == [{"attempt": broken.pk, "message": "KeyError: 'reading'"}]


def test_a_cancelled_round_can_not_be_applied(stored, kinder):
    stored()
    found = counted()
    assert remarking.cancel(found)
    assert not remarking.apply(found, reason="no", send=False)


def test_two_rounds_never_write_at_once(stored, kinder):
    stored()
    one, other = counted(), counted()
    assert remarking.apply(one, reason="first", send=False)
    with pytest.raises(remarking.Busy):
        remarking.apply(other, reason="second", send=False)


def test_a_mark_that_becomes_gradable_is_offered_to_graders(stored, kinder):
    attempt = stored()
    lost = {**attempt.mark, "graded": False, "total": None}
    Attempt.objects.filter(pk=attempt.pk).update(status="not_graded", mark=lost, total=None)
    ActionFactory(attempt=attempt, kind="explain", payload={"text": "why"}, outcome={})
    applied(counted())
    attempt.refresh_from_db()
    assert attempt.status == "marked"
    assert Review.objects.filter(attempt=attempt).exists()


# ----------------------------------------------------------------------------------- by the command


def remark(capsys, *arguments):
    call_command("remark", *arguments)
    return capsys.readouterr().out


def test_the_command_shows_applies_and_undoes(stored, kinder, capsys):
    attempt = stored()
    shown = remark(capsys, SLUG)
    number = Remarking.objects.get().pk
    assert f"round {number}: ready to be applied" in shown
    assert "Moves 1 mark" in shown
    assert f"{SLUG} {attempt.public_id}" in shown
    assert "mitigation" in shown
    assert "applied" in remark(capsys, "--apply", f"{number}", "--reason", "a slip in the table")
    attempt.refresh_from_db()
    assert attempt.mark_version == 2
    assert "undone" in remark(capsys, "--undo", f"{number}")


def test_the_command_speaks_to_machines(stored, capsys):
    stored()
    said = json.loads(remark(capsys, SLUG, "--json"))
    assert (said["status"], said["of"], said["as_before"], said["points"]) == ("ready", 1, 1, 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name labs or --all"),
        (["--all", "--undo", "1"], "name labs or --all"),
        (["no-such-lab"], "no such lab: no-such-lab"),
        (["--apply", "7", "--reason", "x"], "there is no round 7"),
        (["--undo", "7"], "there is no round 7"),
    ],
)
def test_a_command_that_makes_no_sense_is_told_so_in_one_line(arguments, says):
    with pytest.raises(CommandError, match=says):
        call_command("remark", *arguments)


def test_nothing_is_applied_without_a_reason(stored, kinder):
    stored()
    found = counted()
    with pytest.raises(CommandError, match="--reason"):
        call_command("remark", "--apply", f"{found.pk}")
    with pytest.raises(CommandError, match="only one that is applied is undone"):
        call_command("remark", "--undo", f"{found.pk}")


def test_how_far_a_round_is_is_told_of_each_phase(stored, kinder, monkeypatch):
    for _ in range(2):
        stored()
    monkeypatch.setattr(remarker, "CHUNK", 1)
    seen = []
    real = remarker._got

    def got(found, *args, **counted):
        real(found, *args, **counted)
        seen.append((found.status, remarking.share_done(Remarking.objects.get(pk=found.pk))))

    monkeypatch.setattr(remarker, "_got", got)
    found = applied(counted())
    assert remarking.undo(found, send=False)
    remarker.carry_on(found.pk)
    phases = ("counting", "applying", "undoing")
    assert seen == [(phase, share) for phase in phases for share in (0.5, 1.0)]
