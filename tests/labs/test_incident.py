"""An incident being handled: what commands do, cost, refuse, and take back; the same bytes in any process."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from labs import incident
from labs.catalogue import lab
from labs.console import parse
from labs.incident import begin, clock, perform, state
from labs.simulator.request import Status

ROOT = Path(__file__).resolve().parents[2]
STORY = (
    "request-log --last 12m --summary",
    "steps --last 60s",
    "restart --max-num-seqs 28",
    "shed 20%",
    "wait 3m",
    "undo 4",
    "add-replica",
    "limit-max-tokens 1200",
    "verify",
)


def tell(world, *lines):
    """Perform lines in order and return their outcomes, numbered from 1."""
    return [perform(world, parse(line), n) for n, line in enumerate(lines, start=1)]


def digest(world):
    return world.world.cluster.digest()


PROGRAM = """
from labs import incident
from labs.catalogue import labs
from tests.labs.test_incident import STORY, tell, digest
import sys
world = incident.begin(labs()["preemption-storm"], int(sys.argv[1]), hypothesis=sys.argv[2])
outcomes = tell(world, *STORY)
print(digest(world), repr(outcomes))
"""


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", ["metastable", "demand"])
def test_the_same_commands_give_the_same_bytes_in_any_process(spec, seeds, at_page, hypothesis):
    world = at_page(hypothesis)
    outcomes = tell(world, *STORY)
    ours = f"{digest(world)} {outcomes!r}"
    seed = seeds[hypothesis]
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seed), hypothesis],
        cwd=ROOT,
        env=os.environ
        | {"PYTHONHASHSEED": "4711", "DJANGO_SETTINGS_MODULE": "courseware.settings"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert said == ours


def test_pieces_give_the_same_bytes_as_the_whole(at_page, monkeypatch):
    whole, pieces = at_page(), at_page()
    monkeypatch.setattr(state, "PIECES_A_WINDOW", 0.01)
    tell(whole, *STORY[:5])
    monkeypatch.setattr(state, "PIECES_A_WINDOW", 300 / 7)
    tell(pieces, *STORY[:5])
    assert digest(whole) == digest(pieces)


def test_a_world_goes_on_the_same_from_its_pickle(at_page):
    straight, resumed = at_page(), at_page()
    for n, line in enumerate(STORY, start=1):
        perform(straight, parse(line), n)
        perform(resumed, parse(line), n)
        resumed = pickle.loads(pickle.dumps(resumed))  # noqa: S301  (our own bytes)
    assert digest(straight) == digest(resumed)
    assert straight.changes == resumed.changes


@pytest.mark.parametrize(
    ("line", "cost_s"),
    [
        ("wait 90s", 90),
        ("verify", 300),
        ("restart", 80),
        ("shed 20%", 30),
        ("add-replica", 30),
        ("limit-max-tokens 900", 30),
        ("restart-router", 60),
        ("kv-ledger", 30),
        ("steps", 60),
        ("curl -s localhost:8000/metrics", 15),
        ("help", 0),
    ],
)
def test_a_command_costs_what_its_price_says(at_page, line, cost_s):
    world = at_page()
    (outcome,) = tell(world, line)
    assert (outcome.cost_s, outcome.at_s, world.clock_s) == (cost_s, cost_s, cost_s)
    assert world.world.cluster.now_s == cost_s


@pytest.mark.parametrize(
    "line",
    [
        "promql 'up'",
        "request-log --last 12m --gaps",
        "nvidia-smi --query-gpu=fan.speed",
        "undo 1",
        "restart --no-enable-chunked-prefill",
    ],
)
def test_a_refusal_costs_nothing_and_leaves_the_world_as_it_was(at_page, line):
    world = at_page()
    before = pickle.dumps(world)
    (outcome,) = tell(world, line)
    assert (outcome.kind, outcome.cost_s, outcome.at_s) == ("refused", 0, 0)
    assert outcome.text
    assert pickle.dumps(world) == before


def test_the_clock_stops_at_the_budget(at_page, spec):
    world = at_page()
    tell(world, "wait 30m", f"wait {spec.timeline.budget_s - 1800 - 20}s")
    before = digest(world)
    for line in ("kv-ledger", "restart", "shed 20%", "verify", "wait 21s"):
        (outcome,) = tell(world, line)
        assert outcome.kind == "refused", line
        assert "0:20 is left" in outcome.text
    assert digest(world) == before
    assert [o.kind for o in tell(world, "flags", "nvidia-smi")] == ["answer", "reading"]
    assert world.clock_s == spec.timeline.budget_s - 5


def test_a_restart_loses_nobody_who_was_there(at_page):
    world = at_page()
    engine = world.world.cluster.engines[0]
    alive = [r for r in world.world.cluster.requests if r.finish_ps is None]
    sent = {r.request_id: r.num_output_tokens for r in alive}
    (outcome,) = tell(world, "restart --max-num-seqs 28")
    assert outcome.cost_s == 80
    assert len(alive) > 50
    assert not [r for r in alive if r.status in {Status.ABORTED, Status.SHED}]
    assert all(r.num_output_tokens >= sent[r.request_id] for r in alive)
    assert engine.config.max_num_seqs == 28


def test_flags_that_are_not_given_stay(at_page):
    world = at_page()
    tell(world, "restart --max-num-seqs 28 --watermark 0.05", "restart --kv-cache-dtype fp8")
    config = world.fleet.config
    assert (config.max_num_seqs, config.watermark) == (28, 0.05)
    assert config.usable_blocks == 2 * world.fleet.pool_blocks
    (said,) = tell(world, "flags")
    assert "--max-num-seqs 28" in said.text
    assert "--kv-cache-dtype fp8" in said.text


def test_undoing_a_restart_leaves_out_its_flags_and_no_others(at_page):
    world = at_page()
    before = world.fleet.config.max_num_seqs
    tell(world, "restart --max-num-seqs 28", "restart --watermark 0.05")
    perform(world, parse("undo 1"), 3)
    assert (world.fleet.config.max_num_seqs, world.fleet.config.watermark) == (before, 0.05)
    assert [c.taken_back for c in world.changes] == [True, False]


@pytest.mark.parametrize(
    ("undone", "share", "limit"), [(1, 0.5, None), (2, 0.2, None), (3, 0.5, 600), (4, 0.5, 1200)]
)
def test_undoing_one_of_two_leaves_the_other_in_force(at_page, undone, share, limit):
    world = at_page()
    lines = ["shed 20%", "shed 50%"]
    if limit:
        lines += ["limit-max-tokens 1200", "limit-max-tokens 600"]
    tell(world, *lines)
    perform(world, parse(f"undo {undone}"), 9)
    cluster = world.world.cluster
    assert (cluster.shed_share, cluster.max_tokens_limit) == (share, limit)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("add-replica", "does not take it away again"),
        ("restart", "nothing to take back"),
        ("restart-router", "nothing to take back"),
    ],
)
def test_what_cannot_be_taken_back_is_said_so(at_page, change, why):
    world = at_page()
    tell(world, change)
    outcome = perform(world, parse("undo 1"), 2)
    assert outcome.kind == "refused"
    assert why in outcome.text


def test_an_undo_that_would_stop_the_engine_is_refused(at_page):
    world = at_page()
    tell(world, "restart --max-num-batched-tokens 32768", "restart --no-enable-chunked-prefill")
    outcome = perform(world, parse("undo 1"), 3)
    assert outcome.kind == "refused"
    assert "smaller than max_model_len" in outcome.text


def test_a_change_is_taken_back_once(at_page):
    world = at_page()
    tell(world, "shed 20%")
    assert perform(world, parse("undo 1"), 2).kind == "change"
    assert perform(world, parse("undo 1"), 3).kind == "refused"


def test_there_is_one_standby_box(at_page):
    world = at_page()
    first, second = tell(world, "add-replica", "add-replica")
    assert (first.kind, second.kind) == ("change", "refused")


def test_an_instrument_that_perturbs_slows_the_engine_while_it_measures(at_page):
    world = at_page()
    (outcome,) = tell(world, "steps")
    assert outcome.operation == {"verb": "slowdown", "factor": 1.03, "lasts_s": 60}
    assert world.world.cluster.engines[0].slowdown == 1.0


def test_verification_speaks_of_what_paged_and_of_every_promise_over_its_window(at_page):
    world = at_page("demand")
    (before,) = tell(world, "verify")
    assert before.kind == "verification"
    assert "window 0:00 to 5:00" in before.text
    assert "held" not in before.text
    assert set(before.signals) == {"ttft_p95_s", "promise:ttft", "promise:gap"}
    assert before.signals["ttft_p95_s"] == incident.alarm_now(world)
    *_, after = tell(world, "restart --kv-cache-dtype fp8", "wait 30m", "wait 5m", "verify")
    assert [line[:6] for line in after.text.splitlines()[1:]] == ["held  "] * 3
    assert all(after.signals[f"promise:{name}"] >= 0.95 for name in ("ttft", "gap"))


def test_users_hurt_never_fall_while_the_storm_goes_on(at_page):
    world = at_page()
    counts = []
    for _ in range(4):
        tell(world, "wait 2m")
        counts.append(incident.gauges(world).users_hurt)
    assert counts == sorted(counts)
    assert counts[-1] > 50


def test_everybody_who_was_shed_is_hurt(at_page):
    world = at_page()
    tell(world, "shed 100%", "wait 5m")
    sent = [r for r in world.world.cluster.requests if r.sent_s > 0]
    shed = [r for r in sent if r.status is Status.SHED]
    assert len(shed) == len(sent)
    assert incident.users_hurt(world, 0.0, 330.0) == len(sent)


def test_progress_is_told_and_may_stop_the_work(spec, seeds):
    told = []

    def progress(share, doing):
        told.append((share, doing))
        if share > 0.5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        begin(spec, seeds["demand"], hypothesis="demand", progress=progress)
    assert told[0][1] == "Simulating −35:30 of 0:00"
    assert [share for share, _ in told] == sorted(share for share, _ in told)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (754, "12:34"), (-90, "−1:30")]
)
def test_incident_time_is_minutes_and_seconds(seconds, shown):
    assert clock(seconds) == shown


@pytest.mark.parametrize("key", ["answers-crawl/live", "preemption-storm/live"])
def test_what_a_prediction_asks_about_is_read_whatever_the_step_of_the_chart(key):
    spec = lab(key)
    world = incident.waking(spec, 1)
    incident.advance(world, spec.prediction.at_s + 2)
    read = dict(incident.alarm_series(world, from_s=spec.timeline.healthy_from_s))
    assert read[spec.prediction.at_s] is not None
