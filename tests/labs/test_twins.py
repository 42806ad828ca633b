"""The re-runs that marking compares, and the atoms that they keep or leave out."""

import pytest

from labs import twins as rooms
from labs.atoms import Timed, atoms_in_force, atoms_of, keeping
from labs.console import parse
from labs.incident import perform
from labs.log import Entry, operations_of
from labs.twins import Twins, play

RESTART = {"verb": "restart", "--max-num-seqs": "28", "--no-enable-chunked-prefill": ""}
SHED = {"verb": "shed", "percent": "20"}
SLOW = {"verb": "slowdown", "factor": 1.03, "lasts_s": 60}


def undo(number, operation):
    return {"verb": "undo", "of": number, "operation": operation}


def handled(world, *lines):
    """Perform lines and return the operations that they were."""
    log = []
    for number, line in enumerate(lines, start=1):
        outcome = perform(world, parse(line), number)
        assert outcome.kind != "refused", outcome.text
        data = {"operation": outcome.operation, "number": number, "kind": outcome.kind}
        log.append(Entry("command", {}, data, outcome.at_s, outcome.cost_s))
    return operations_of(log)


@pytest.mark.parametrize(
    ("operation", "atoms"),
    [
        (SHED, {("router", "shed")}),
        ({"verb": "restart"}, {("engine", "restart")}),
        (RESTART, {("engine", "--max-num-seqs"), ("engine", "--enable-chunked-prefill")}),
        ({"verb": "add-replica"}, {("fleet", "add-replica")}),
        ({"verb": "limit-max-tokens", "tokens": "9"}, {("gateway", "limit-max-tokens")}),
        ({"verb": "restart-router"}, {("router", "restart-router")}),
        (undo(1, SHED), {("router", "shed")}),
    ],
)
def test_a_change_is_taken_apart_into_target_and_kind(operation, atoms):
    assert set(atoms_of(operation)) == atoms


def test_keeping_leaves_out_flags_one_by_one_and_empty_restarts_whole():
    log = [Timed(10, 1, RESTART), Timed(100, 2, SHED), Timed(200, 3, undo(1, RESTART))]
    cap = keeping(log, frozenset({("engine", "--max-num-seqs")}))
    only = {"verb": "restart", "--max-num-seqs": "28"}
    assert cap == (Timed(10, 1, only), Timed(200, 3, undo(1, only)))
    assert keeping(log, frozenset({("router", "shed")})) == (Timed(100, 2, SHED),)
    assert keeping(log, frozenset()) == ()


def test_keeping_nothing_still_keeps_what_measuring_cost_the_engine():
    assert keeping([Timed(0, 1, SLOW), Timed(60, 2, SHED)], frozenset()) == (Timed(0, 1, SLOW),)


def test_what_was_taken_back_is_not_in_force(at_page):
    world = at_page()
    handled(world, "shed 20%", "restart --watermark 0.05", "undo 1")
    assert atoms_in_force(world) == (("engine", "--watermark"),)


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", ["metastable", "demand"])
def test_a_twin_with_the_same_changes_is_the_live_world(spec, seeds, at_page, hypothesis):
    live = at_page(hypothesis)
    lines = (
        "request-log --last 12m --summary",
        "steps",
        "restart --max-num-seqs 28 --scheduler-reserve-full-isl",
        "shed 20%",
        "steps",
        "undo 4",
        "add-replica",
        "limit-max-tokens 1200",
        "kv-ledger",
    )
    operations = handled(live, *lines)
    twins = Twins(spec, hypothesis, seeds[hypothesis], live.clock_s)
    assert twins.tell(operations, digest=True).digest == live.world.cluster.digest()
    without = keeping(operations, frozenset())
    assert twins.tell(without, digest=True).digest != live.world.cluster.digest()


def test_a_world_that_is_only_looked_at_is_its_own_twin(spec, seeds, at_page):
    live = at_page("demand")
    operations = handled(live, "kv-ledger", "steps", "steps", "nvidia-smi")
    twins = Twins(spec, "demand", seeds["demand"], live.clock_s)
    twin = twins.tell(operations, digest=True)
    assert twin.digest == live.world.cluster.digest()
    assert not twin.passes
    assert twin.lost_share == 0
    assert twin.parameter > 0.95


def test_a_twin_refuses_what_its_engine_would(at_page):
    # The learner gave both flags at once; alone, vLLM would not start with the second.
    world = at_page()
    alone = Timed(0, 1, {"verb": "restart", "--no-enable-chunked-prefill": ""})
    play(world, [alone, Timed(30, 2, SHED)], 60)
    assert world.fleet.config.enable_chunked_prefill
    assert [change.number for change in world.changes] == [2]


def test_a_twin_is_simulated_once_whatever_asks_for_it(spec, seeds):
    twins = Twins(spec, "demand", seeds["demand"], 0)
    assert twins.run([]) is twins.run(())


def test_those_who_were_turned_away_are_lost(spec, seeds, at_page):
    live = at_page("demand")
    operations = handled(live, "shed 100%", "wait 1m")
    twin = Twins(spec, "demand", seeds["demand"], live.clock_s).run(operations, since_s=0)
    assert twin.lost_share > 0.95
    assert not twin.passes


@pytest.mark.slow
def test_a_re_run_may_end_when_all_that_it_measures_has(spec, seeds, monkeypatch):
    mended = [Timed(0, 1, {"verb": "restart", "--scheduler-reserve-full-isl": ""})]
    told = []
    for step_s in (rooms.FOLLOW_STEP_S, spec.mitigation.follow_s):
        monkeypatch.setattr(rooms, "FOLLOW_STEP_S", step_s)
        twins = Twins(spec, "metastable", seeds["metastable"], 600)
        told += [(twins.run(mended, since_s=0), twins.run([]))]
    assert told[0] == told[1]


def test_a_re_run_begins_where_the_first_change_does_and_is_the_same_world(spec, seeds, at_page):
    live = at_page("demand")
    operations = handled(live, "kv-ledger", "steps", "shed 20%", "steps", "nvidia-smi", "kv-ledger")
    since_s = next(each.at_s for each in operations if each.operation["verb"] == "shed")
    told = [
        Twins(spec, "demand", seeds["demand"], live.clock_s).tell(
            operations, since_s=begun_s, digest=True
        )
        for begun_s in (since_s, 0)
    ]
    assert since_s > 0
    assert told[0].digest == told[1].digest == live.world.cluster.digest()
    assert told[0].fared == told[1].fared
